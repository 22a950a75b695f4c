/* Requests to the kernel as libaio makes them. Usage: libaio_calls linked | raw | plugin PATH | handle PATH
 * LIBRARY: io_submit as libaio has it; INLINE: as before version 0.3.113. LINKED: a program, PLUGIN: an
 * object that is linked with that library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

typedef int submit_call(aio_context_t queue, long n, struct iocb **requests);
submit_call io_submit, plugin_submit;

#if defined(LIBRARY)
int io_submit(aio_context_t queue, long n, struct iocb **requests) {
#if defined(INLINE)
    long result = SYS_io_submit;
    __asm__ volatile("syscall" : "+a"(result) : "D"(queue), "S"(n), "d"(requests) : "rcx", "r11", "memory");
    return (int)result;
#else
    int saved = errno, result = (int)syscall(SYS_io_submit, queue, n, requests);
    if (result < 0) {
        result = -errno;
        errno = saved;
    }
    return result;
#endif
}
#elif defined(PLUGIN)
int plugin_submit(aio_context_t queue, long n, struct iocb **requests) {
    return io_submit(queue, n, requests);
}
#else

static char bytes[4096];

static struct iocb of(int call, int fd, const void *place, size_t n, long long offset) {
    return (struct iocb){.aio_lio_opcode = (uint16_t)call,
                         .aio_fildes = (uint32_t)fd,
                         .aio_buf = (uintptr_t)place,
                         .aio_nbytes = n,
                         .aio_offset = offset};
}

static int raw_submit(aio_context_t queue, long n, struct iocb **requests) {
    return (int)syscall(SYS_io_submit, queue, n, requests);
}

/* Submit, and wait for what was taken. */
static int perform(submit_call *submit, aio_context_t queue, int n, struct iocb *requests) {
    struct iocb *list[4];
    struct io_event events[4];
    for (int i = 0; i < n; i++) {
        list[i] = &requests[i];
    }
    errno = 77;
    int taken = submit(queue, n, list);
    if (taken > 0 && syscall(SYS_io_getevents, queue, (long)taken, (long)taken, events, NULL) != taken) {
        return -1;
    }
    return errno == 77 ? taken : -1; /* libaio leaves errno */
}

int main(int argc, char **argv) {
    aio_context_t queue = 0;
#if defined(LINKED)
    submit_call *submit = &io_submit;
#else
    submit_call *submit = NULL;
#endif
    if (argc < 2 || syscall(SYS_io_setup, 8L, &queue) != 0) {
        return errno == ENOSYS || errno == EPERM ? 77 : 1;
    }
    if (strcmp(argv[1], "raw") == 0) {
        submit = raw_submit;
    } else if (argc > 2) {
        void *plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
        const char *name = strcmp(argv[1], "handle") == 0 ? "io_submit" : "plugin_submit";
        submit = plugin ? (submit_call *)(uintptr_t)dlsym(plugin, name) : NULL;
    }
    int fd = open("aio.bin", O_CREAT | O_RDWR | O_TRUNC, 0644);
    if (fd < 0 || submit == NULL) {
        return 2;
    }
    struct iovec pieces[2] = {{bytes, 100}, {bytes, 200}};
    struct iocb written[] = {of(IOCB_CMD_PWRITE, fd, bytes, 4096, 8192),
                             of(IOCB_CMD_PWRITEV, fd, pieces, 2, 0)};
    struct iocb read_back[] = {of(IOCB_CMD_PREAD, fd, bytes, 300, 8192)};
    /* The kernel takes the first request and not the second; then none. */
    struct iocb partly[] = {of(IOCB_CMD_PWRITE, fd, bytes, 50, 500), of(IOCB_CMD_PWRITE, -1, bytes, 60, 600)};
    if (perform(submit, queue, 2, written) != 2 || perform(submit, queue, 1, read_back) != 1 ||
        perform(submit, queue, 2, partly) != 1) {
        return 3;
    }
    if (submit != raw_submit && perform(submit, queue, 1, partly + 1) != -EBADF) {
        return 4;
    }
    return 0;
}
#endif
