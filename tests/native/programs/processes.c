/* Threads, fork, exec, _exit: every process and thread writes; test_tracer_processes.py lists the same. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char block[100];

static void *work(void *argument) {
    int fd = *(int *)argument;
    for (int i = 0; i < 1000; i++) {
        if (pwrite(fd, block, sizeof block, i * 100) != sizeof block) {
            return argument;
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "again") == 0) { /* after exec */
        int fd = open("exec.bin", O_CREAT | O_WRONLY, 0644);
        write(fd, block, 7);
        _exit(0); /* no destructors */
    }
    pthread_t threads[4];
    int fds[4];
    for (int i = 0; i < 4; i++) {
        char name[] = "thread0.bin";
        name[6] = (char)('0' + i);
        fds[i] = open(name, O_CREAT | O_WRONLY, 0644);
        pthread_create(&threads[i], NULL, work, &fds[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    int shared = open("shared.bin", O_CREAT | O_WRONLY, 0644);
    write(shared, block, 10);
    pid_t child = fork();
    if (child == 0) {
        write(shared, block, 20);
        int own = open("child.bin", O_CREAT | O_WRONLY, 0644);
        write(own, block, 30);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    write(shared, block, 40); /* behind what the child wrote */
    execl(argv[0], argv[0], "again", (char *)NULL);
    return 1;
}
