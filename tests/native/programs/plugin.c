/* A program and its plugin, which writes a file; with "deep" the plugin looks for functions in its own
 * libraries first, with "apart" it has libraries of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
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
    const char *way = argc > 1 ? argv[1] : "";
    void *plugin = strcmp(way, "apart") == 0
                       ? dlmopen(LM_ID_NEWLM, "./plugin.so", RTLD_NOW)
                       : dlopen("./plugin.so", RTLD_NOW | (strcmp(way, "deep") == 0 ? RTLD_DEEPBIND : 0));
    if (plugin == NULL) {
        return 1;
    }
    ((void (*)(void))dlsym(plugin, "work"))();
    return 0;
}
#endif
