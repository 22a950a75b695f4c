/* A program and its plugin, which writes a file; with any argument the plugin looks for functions in its own
 * libraries first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#ifdef PLUGIN
void work(void) {
    int file = open("plugin.out", O_CREAT | O_WRONLY | O_TRUNC, 0666);
    if (write(file, "hello", 5) == 5) {
        close(file);
    }
}
#else
int main(int argc, char **argv) {
    (void)argv;
    void *plugin = dlopen("./plugin.so", RTLD_NOW | (argc > 1 ? RTLD_DEEPBIND : 0));
    if (plugin == NULL) {
        return 1;
    }
    ((void (*)(void))dlsym(plugin, "work"))();
    return 0;
}
#endif
