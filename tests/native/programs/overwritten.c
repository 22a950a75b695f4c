/* Maps a file. With "before" also before it writes a jump over mmap, as UCX does below MPI; with "never"
 * it writes over nothing. x86-64. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *own_mmap(void *place, size_t size, int protection, int flags, int fd, off_t offset) {
    return (void *)syscall(SYS_mmap, place, size, protection, flags, fd, offset);
}

static int write_over(const char *name) {
    unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0}; /* mov $own, %rax; jmp *%rax */
    void *own = (void *)own_mmap, *code = dlsym(RTLD_DEFAULT, name);
    uintptr_t page = (uintptr_t)code & ~(uintptr_t)4095;
    memcpy(jump + 2, &own, sizeof own);
    if (mprotect((void *)page, 2 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
        return 1;
    }
    memcpy(code, jump, sizeof jump);
    return mprotect((void *)page, 2 * 4096, PROT_READ | PROT_EXEC);
}

static int map(int fd) {
    char *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    int wrong = memory == MAP_FAILED || memory[4095] != 'x';
    return munmap(memory, 4096) != 0 || wrong;
}

int main(int argc, char **argv) {
    const char *when = argc > 1 ? argv[1] : "";
    char data[4096];
    int fd = open("mapped", O_CREAT | O_RDWR | O_TRUNC, 0666), failed = 0;
    memset(data, 'x', sizeof data);
    failed |= write(fd, data, sizeof data) != (ssize_t)sizeof data;
    if (strcmp(when, "before") == 0) {
        failed |= map(fd);
    }
    if (strcmp(when, "never") != 0) {
        failed |= write_over("mmap");
    }
    failed |= map(fd);
    return close(fd) != 0 || failed;
}
