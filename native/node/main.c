/* wavetank-node: makes nodes of a virtual cluster out of Linux namespaces, and runs commands in them.
 *
 *   wavetank-node create --hostname H --root DIR --upper DIR --work DIR --hidden DIR [--upper-in-memory]
 *                        [--disk DEVICE:PATH:TYPE[:OPTIONS]]... [--join-user PID] [--join CGROUP.PROCS]...
 *   wavetank-node create [--own-user] [--join CGROUP.PROCS]...    (a switch: a network namespace only)
 *   wavetank-node run MAP NODE COMMAND [ARGUMENT]...
 *   wavetank-node shell MAP [ssh options] NODE COMMAND...         (stands in for ssh)
 *   wavetank-node agent ADDRESS:PORT CALLER FILE                  (process 1 of a guest)
 *   wavetank-node costs                                           (of a system call and an interrupt, ns)
 *
 * A process joins cgroups and namespaces for itself and its children alone. So nodes are made and entered by
 * a program of their own, not by calls of the tool.
 *
 * create prints "PID START_TICKS" of the node's process 1, which stays.
 */
#include "node.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void) {
    fprintf(stderr,
            "usage: wavetank-node create OPTIONS | run MAP NODE COMMAND... | shell MAP NODE COMMAND... | "
            "agent ADDRESS:PORT CALLER FILE | costs\n");
    return EXIT_OURS;
}

/* DEVICE:PATH:TYPE[:OPTIONS]; the words stay in argv. */
static bool add_disk(struct node_options *node, char *words) {
    char *rest = NULL;
    struct disk disk = {.device = strtok_r(words, ":", &rest)};
    disk.at = strtok_r(NULL, ":", &rest);
    disk.type = strtok_r(NULL, ":", &rest);
    disk.options = strtok_r(NULL, ":", &rest);
    if (disk.type == NULL || node->n_disks == MAX_DISKS) {
        return false;
    }
    node->disks[node->n_disks++] = disk;
    return true;
}

static int create(int argc, char **argv) {
    struct node_options node = {.hidden = "/nonexistent"};
    static const struct option known[] = {
        {"root", required_argument, NULL, 'r'},
        {"upper", required_argument, NULL, 'u'},
        {"work", required_argument, NULL, 'w'},
        {"hostname", required_argument, NULL, 'n'},
        {"hidden", required_argument, NULL, 'x'},
        {"disk", required_argument, NULL, 'd'},
        {"join", required_argument, NULL, 'j'},
        {"own-user", no_argument, NULL, 'o'},
        {"join-user", required_argument, NULL, 'p'},
        {"upper-in-memory", no_argument, NULL, 'm'},
        {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (option) {
        case 'r':
            node.root = optarg;
            break;
        case 'u':
            node.upper = optarg;
            break;
        case 'w':
            node.work = optarg;
            break;
        case 'n':
            node.hostname = optarg;
            break;
        case 'x':
            node.hidden = optarg;
            break;
        case 'd':
            if (!add_disk(&node, optarg)) {
                return usage();
            }
            break;
        case 'o':
            node.own_user = true;
            break;
        case 'p':
            node.join_user = (pid_t)strtol(optarg, NULL, 10);
            break;
        case 'm':
            node.upper_in_memory = true;
            break;
        case 'j':
            if (node.cgroups.n == MAX_CGROUPS) {
                return usage();
            }
            node.cgroups.procs[node.cgroups.n++] = optarg;
            break;
        default:
            return usage();
        }
    }
    if (optind != argc || (node.root != NULL && (node.upper == NULL || node.work == NULL))) {
        return usage();
    }
    return wt_create_node(&node);
}

int main(int argc, char **argv) {
    if (argc >= 2 && strcmp(argv[1], "create") == 0) {
        return create(argc - 1, argv + 1);
    }
    if (argc >= 5 && strcmp(argv[1], "run") == 0) {
        return wt_run_in_node(argc - 2, argv + 2);
    }
    if (argc >= 5 && strcmp(argv[1], "shell") == 0) {
        return wt_shell_in_node(argc - 2, argv + 2);
    }
    if (argc == 5 && strcmp(argv[1], "agent") == 0) {
        return wt_be_agent(argc - 2, argv + 2);
    }
    if (argc == 2 && strcmp(argv[1], "costs") == 0) {
        return wt_print_costs();
    }
    return usage();
}
