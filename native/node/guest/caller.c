/* Runs a command in a guest by its agent, with this process's streams, directory and environment.
 *
 * The command ends with this process: the agent ends it when the connection does. So a tool that is killed
 * leaves nothing running in a guest. Answers are read while input is still to be sent: else each side could
 * wait for the other for ever.
 */
#include "../node.h"
#include "frames.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECT_TIMEOUT_MS = 60000,
    KEEPALIVE_S = 5, /* a guest that is gone is noticed after 25 s; its kernel answers, not its programs */
    KEEPALIVE_TRIES = 4
};

struct caller {
    int socket;
    const char *name;
    bool reads_input;
    char pending[FRAME_BYTES + sizeof(struct frame)];
    size_t n_pending;
    size_t n_sent;
};

static int signals[2]; /* a pipe: numbers of signals that came */

static void note_signal(int number) {
    int before = errno;
    unsigned char byte = (unsigned char)number;
    (void)!write(signals[1], &byte, 1);
    errno = before;
}

static void gone(const char *name) {
    fprintf(stderr, "wavetank-node: guest %s does not answer: %s\n", name, strerror(errno));
    exit(EXIT_OURS);
}

static int connect_to(const char *address, const char *name) {
    struct sockaddr_in there = wt_address_of(address);
    int on = 1, idle = KEEPALIVE_S, tries = KEEPALIVE_TRIES, error = 0;
    socklen_t length = sizeof error;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        wt_fail("cannot make a socket for", name);
    }
    if (connect(fd, (struct sockaddr *)&there, sizeof there) != 0) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        if (errno != EINPROGRESS) {
            gone(name);
        }
        if (poll(&wait, 1, CONNECT_TIMEOUT_MS) == 0) {
            errno = ETIMEDOUT;
            gone(name);
        }
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) {
            errno = error;
            gone(name);
        }
    }
    fcntl(fd, F_SETFL, 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
    return fd;
}

static void send_request(const struct caller *caller, char **argv) {
    char directory[4096];
    struct request request = {0};
    if (getcwd(directory, sizeof directory) == NULL) {
        snprintf(directory, sizeof directory, "/");
    }
    request.length = (uint32_t)strlen(directory) + 1;
    for (; argv[request.n_words] != NULL; request.n_words++) {
        request.length += (uint32_t)strlen(argv[request.n_words]) + 1;
    }
    for (; environ[request.n_environment] != NULL; request.n_environment++) {
        request.length += (uint32_t)strlen(environ[request.n_environment]) + 1;
    }
    char *strings = malloc(request.length);
    if (strings == NULL || request.length > REQUEST_BYTES) {
        errno = E2BIG;
        wt_fail("cannot run a command in", caller->name);
    }
    char *at = stpcpy(strings, directory) + 1;
    for (char **word = argv; *word != NULL; word++) {
        at = stpcpy(at, *word) + 1;
    }
    for (char **setting = environ; *setting != NULL; setting++) {
        at = stpcpy(at, *setting) + 1;
    }
    if (!wt_send_all(caller->socket, &request, sizeof request) ||
        !wt_send_all(caller->socket, strings, request.length)) {
        gone(caller->name);
    }
    free(strings);
}

static void add_frame(struct caller *caller, enum frame_kind kind, size_t length) {
    struct frame frame = {.kind = (uint32_t)kind, .length = (uint32_t)length};
    memcpy(caller->pending, &frame, sizeof frame);
    caller->n_pending = sizeof frame + length;
    caller->n_sent = 0;
}

static void read_input(struct caller *caller) {
    ssize_t got = read(STDIN_FILENO, caller->pending + sizeof(struct frame), FRAME_BYTES);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    caller->reads_input = got > 0;
    add_frame(caller, FRAME_INPUT, got > 0 ? (size_t)got : 0);
}

static void read_signal(struct caller *caller) {
    unsigned char byte = 0;
    if (read(signals[0], &byte, 1) == 1) {
        int32_t number = byte;
        memcpy(caller->pending + sizeof(struct frame), &number, sizeof number);
        add_frame(caller, FRAME_SIGNAL, sizeof number);
    }
}

/* What is to be sent goes as the agent takes it: its answers are read meanwhile, so neither waits for ever.
 */
static void send_pending(struct caller *caller) {
    ssize_t sent = send(caller->socket, caller->pending + caller->n_sent, caller->n_pending - caller->n_sent,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
        caller->n_sent += (size_t)sent;
    } else if (errno != EAGAIN && errno != EINTR) {
        caller->reads_input = false; /* its last frames say how the command ended */
        caller->n_sent = caller->n_pending;
    }
    if (caller->n_sent == caller->n_pending) {
        caller->n_pending = caller->n_sent = 0;
    }
}

static void write_out(int fd, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            exit(128 + SIGPIPE); /* nobody reads us any more: the command is ended with the connection */
        }
        bytes += written;
        length -= (size_t)written;
    }
}

/* Takes one frame; true when it was the last. */
static bool take_frame(const struct caller *caller, int *status) {
    static char bytes[FRAME_BYTES];
    struct frame frame;
    int32_t number = 0;
    if (!wt_read_all(caller->socket, &frame, sizeof frame) || frame.length > sizeof bytes ||
        !wt_read_all(caller->socket, bytes, frame.length)) {
        errno = errno == 0 ? ECONNRESET : errno;
        gone(caller->name);
    }
    if (frame.kind == FRAME_STATUS && frame.length == sizeof number) {
        memcpy(&number, bytes, sizeof number);
        *status = number;
        return true;
    }
    write_out(frame.kind == FRAME_ERROR ? STDERR_FILENO : STDOUT_FILENO, bytes, frame.length);
    return false;
}

static int converse(struct caller *caller) {
    int status = EXIT_OURS;
    for (;;) {
        bool is_idle = caller->n_pending == 0;
        struct pollfd waits[] = {
            {.fd = caller->socket, .events = (short)(POLLIN | (is_idle ? 0 : POLLOUT))},
            {.fd = is_idle && caller->reads_input ? STDIN_FILENO : -1, .events = POLLIN},
            {.fd = is_idle ? signals[0] : -1, .events = POLLIN},
        };
        if (poll(waits, sizeof waits / sizeof *waits, -1) < 0) {
            if (errno == EINTR) {
                continue;
            }
            wt_fail("cannot wait for", caller->name);
        }
        errno = 0;
        if (waits[0].revents & (POLLIN | POLLHUP | POLLERR) && take_frame(caller, &status)) {
            return status;
        }
        if (waits[0].revents & POLLOUT) {
            send_pending(caller);
        } else if (waits[2].revents != 0) {
            read_signal(caller);
        } else if (waits[1].revents != 0) {
            read_input(caller);
        }
    }
}

int wt_run_in_guest(const char *address, const char *name, char **argv) {
    static struct caller caller;
    const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = note_signal};
    caller.name = name;
    caller.socket = connect_to(address, name);
    caller.reads_input = true;
    if (pipe2(signals, O_CLOEXEC | O_NONBLOCK) != 0) {
        wt_fail("cannot make", "a pipe");
    }
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
        sigaction(passed[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    send_request(&caller, argv);
    return converse(&caller);
}
