/* A file system of one file, "striped", that has the extended attribute lustre.lov; its bytes come from the
 * file that STRIPED_FS_LAYOUT names. Stands for a mount of Lustre. Usage: striped_fs MOUNTPOINT -f -o
 * subtype=lustre */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char layout[4096];
static size_t layout_bytes;

static int get_attributes(const char *path, struct stat *facts, struct fuse_file_info *info) {
    (void)info;
    memset(facts, 0, sizeof *facts);
    facts->st_nlink = 1;
    if (strcmp(path, "/") == 0) {
        facts->st_mode = S_IFDIR | 0755;
        return 0;
    }
    facts->st_mode = S_IFREG | 0644;
    facts->st_size = 100;
    return strcmp(path, "/striped") == 0 ? 0 : -ENOENT;
}

static int get_attribute(const char *path, const char *name, char *value, size_t room) {
    if (strcmp(path, "/striped") != 0 || strcmp(name, "lustre.lov") != 0) {
        return -ENODATA;
    }
    if (room >= layout_bytes) {
        memcpy(value, layout, layout_bytes);
    }
    return room == 0 || room >= layout_bytes ? (int)layout_bytes : -ERANGE;
}

static int read_file(const char *path, char *bytes, size_t n, off_t offset, struct fuse_file_info *info) {
    (void)path, (void)info;
    size_t left = offset < 100 ? (size_t)(100 - offset) : 0;
    n = n < left ? n : left;
    memset(bytes, 's', n);
    return (int)n;
}

static const struct fuse_operations operations = {
    .getattr = get_attributes, .getxattr = get_attribute, .read = read_file};

int main(int argc, char **argv) {
    FILE *file = fopen(getenv("STRIPED_FS_LAYOUT"), "rb");
    if (file == NULL) {
        return 1;
    }
    layout_bytes = fread(layout, 1, sizeof layout, file);
    fclose(file);
    return fuse_main(argc, argv, &operations, NULL);
}
