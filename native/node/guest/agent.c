/* Process 1 of a guest: runs the commands that come over its connection to the machine it is a guest of.
 *
 * Only that machine can reach it: the address that it answers to is on a link of the two alone.
 * Another server of commands, sshd, needs keys, and takes longer to log in than a guest takes to boot.
 */
#include "../node.h"
#include "frames.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_WAITING = 128 };

struct command {
    int socket;
    pid_t pid;
    int input; /* -1 when closed */
    int output;
    int error;
    char pending[FRAME_BYTES]; /* input that the command has not taken yet */
    size_t n_pending;
    size_t n_written;
};

static void leave_alone(const char *why) {
    fprintf(stderr, "wavetank-node: agent: %s: %s\n", why, strerror(errno));
    _exit(EXIT_OURS);
}

static char **strings_of(char **at, const char *end, uint32_t n) {
    char **found = calloc(n + 1U, sizeof *found);
    for (uint32_t i = 0; found != NULL && i < n; i++) {
        if (*at >= end) {
            return NULL;
        }
        found[i] = *at;
        *at += strlen(*at) + 1;
    }
    return found;
}

static void become(char *directory, char **argv, char **env, const int streams[3]) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid();
    for (int i = 0; i < 3; i++) {
        dup2(streams[i], i);
    }
    if (chdir(directory) != 0) {
        (void)!chdir("/");
    }
    environ = env;
    execvp(argv[0], argv); /* by the PATH of its environment */
    int status = errno == ENOENT ? 127 : 126;
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(status);
}

static void start(struct command *command) {
    struct request request;
    int input[2], output[2], error[2];
    if (!wt_read_all(command->socket, &request, sizeof request) || request.length > REQUEST_BYTES ||
        request.n_words == 0 || request.n_words > request.length || request.n_environment > request.length) {
        leave_alone("no request");
    }
    char *strings = calloc(request.length + 1U, 1);
    if (strings == NULL || !wt_read_all(command->socket, strings, request.length)) {
        leave_alone("no request");
    }
    char *at = strings;
    const char *end = strings + request.length;
    char *directory = at;
    at += strlen(at) + 1;
    char **argv = strings_of(&at, end, request.n_words);
    char **env = strings_of(&at, end, request.n_environment);
    if (argv == NULL || env == NULL) {
        leave_alone("a request that is cut short");
    }
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0) {
        leave_alone("no pipes");
    }
    command->pid = fork();
    if (command->pid < 0) {
        leave_alone("no process");
    }
    if (command->pid == 0) {
        become(directory, argv, env, (const int[]){input[0], output[1], error[1]});
    }
    close(input[0]);
    close(output[1]);
    close(error[1]);
    fcntl(input[1], F_SETFL, O_NONBLOCK);
    command->input = input[1];
    command->output = output[0];
    command->error = error[0];
    free(strings);
}

static void end_command(const struct command *command) {
    kill(-command->pid, SIGKILL);
    kill(command->pid, SIGKILL); /* had it no session of its own yet */
    _exit(0);
}

/* One reading of a stream goes to the caller; false at its end. */
static bool pass_on(const struct command *command, int *stream, enum frame_kind kind) {
    static char bytes[FRAME_BYTES];
    ssize_t got = read(*stream, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return false;
    }
    if (got <= 0) {
        close(*stream);
        *stream = -1;
        return false;
    }
    if (!wt_send_frame(command->socket, kind, bytes, (size_t)got)) {
        end_command(command);
    }
    return true;
}

static void close_input(struct command *command) {
    close(command->input);
    command->input = -1;
    command->n_pending = command->n_written = 0;
}

static void take_frame(struct command *command) {
    struct frame frame;
    int32_t number = 0;
    if (!wt_read_all(command->socket, &frame, sizeof frame) || frame.length > sizeof command->pending ||
        !wt_read_all(command->socket, command->pending, frame.length)) {
        end_command(command);
    }
    if (frame.kind == FRAME_SIGNAL && frame.length == sizeof number) {
        memcpy(&number, command->pending, sizeof number);
        kill(command->pid, number);
    } else if (frame.kind == FRAME_INPUT && command->input >= 0) {
        if (frame.length == 0) {
            close_input(command);
        }
        command->n_pending = frame.length;
        command->n_written = 0;
    }
}

static void give_input(struct command *command) {
    ssize_t written =
        write(command->input, command->pending + command->n_written, command->n_pending - command->n_written);
    if (written > 0) {
        command->n_written += (size_t)written;
    } else if (errno != EAGAIN && errno != EINTR) {
        close_input(command); /* it reads no more */
    }
    if (command->n_written == command->n_pending) {
        command->n_pending = command->n_written = 0;
    }
}

/* Says how the command ended; nothing when it was only stopped. */
static void send_status(struct command *command, int ended) {
    struct signalfd_siginfo said;
    int status = 0;
    if (waitpid(command->pid, &status, WNOHANG) != command->pid) {
        (void)!read(ended, &said, sizeof said);
        return;
    }
    int32_t code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    /* what it wrote is there already; what it left running may write on, and nobody waits for that */
    fcntl(command->output, F_SETFL, O_NONBLOCK);
    fcntl(command->error, F_SETFL, O_NONBLOCK);
    while (command->output >= 0 && pass_on(command, &command->output, FRAME_OUTPUT)) {
    }
    while (command->error >= 0 && pass_on(command, &command->error, FRAME_ERROR)) {
    }
    wt_send_frame(command->socket, FRAME_STATUS, &code, sizeof code);
    _exit(0);
}

static void serve(int connection) {
    static struct command command;
    sigset_t children;
    command.socket = connection;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    int ended = signalfd(-1, &children, SFD_CLOEXEC);
    start(&command);
    for (;;) {
        bool has_input = command.n_pending > 0;
        struct pollfd waits[] = {
            {.fd = connection, .events = (short)(POLLRDHUP | (has_input ? 0 : POLLIN))},
            {.fd = command.output, .events = POLLIN},
            {.fd = command.error, .events = POLLIN},
            {.fd = has_input ? command.input : -1, .events = POLLOUT},
            {.fd = ended, .events = POLLIN},
        };
        if (poll(waits, sizeof waits / sizeof *waits, -1) < 0) {
            continue;
        }
        if (waits[0].revents & (POLLRDHUP | POLLHUP | POLLERR)) {
            end_command(&command);
        }
        if (waits[1].revents != 0) {
            pass_on(&command, &command.output, FRAME_OUTPUT);
        }
        if (waits[2].revents != 0) {
            pass_on(&command, &command.error, FRAME_ERROR);
        }
        if (waits[3].revents != 0) {
            give_input(&command);
        } else if (waits[0].revents & POLLIN) {
            take_frame(&command);
        }
        if (waits[4].revents != 0) {
            send_status(&command, ended);
        }
    }
}

static int listen_at(const char *address) {
    struct sockaddr_in here = wt_address_of(address);
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&here, sizeof here) != 0 || listen(fd, N_WAITING) != 0) {
        wt_fail("cannot listen at", address);
    }
    return fd;
}

static void say_ready(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        wt_fail("cannot make", path);
    }
    close(fd);
}

/* argv: ADDRESS:PORT to listen at, the address of who may call, a file to make when it listens */
int wt_be_agent(int argc, char **argv) {
    struct in_addr machine;
    if (argc != 3 || inet_pton(AF_INET, argv[1], &machine) != 1) {
        return EXIT_OURS;
    }
    int listening = listen_at(argv[0]);
    signal(SIGCHLD, SIG_IGN); /* the dead are nobody's to wait for */
    say_ready(argv[2]);
    for (;;) {
        struct sockaddr_in caller;
        socklen_t length = sizeof caller;
        int on = 1;
        int connection = accept4(listening, (struct sockaddr *)&caller, &length, SOCK_CLOEXEC);
        if (connection < 0) {
            continue;
        }
        if (caller.sin_addr.s_addr == machine.s_addr && fork() == 0) {
            close(listening);
            setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            serve(connection);
        }
        close(connection);
    }
}
