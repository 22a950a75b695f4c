/* What the mount knows: its client of the server, and by file handle the files and directories that the
 * kernel knows. FUSE names a file by a number, NFS by a handle. The number is the address of the node with
 * the handle, so that no table from numbers is needed. A node stays until the kernel has forgotten each
 * look-up of it. */
#include "mount.h"

#include <stdlib.h>
#include <string.h>

struct client wt_client;

enum { N_BUCKETS = 4096 };

static struct node root;
static struct node *buckets[N_BUCKETS];

struct node *wt_node_of(fuse_ino_t ino) {
    return ino == FUSE_ROOT_ID ? &root : (struct node *)(uintptr_t)ino;
}

fuse_ino_t wt_number_of(const struct node *node) {
    return node == &root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)node;
}

static uint32_t bucket_of(const char *handle, uint32_t size) {
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (uint32_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)handle[i]) * 16777619U;
    }
    return hash % N_BUCKETS;
}

bool wt_start_nodes(const char *root_handle, uint32_t size) {
    if (size > MAX_HANDLE) {
        return false;
    }
    memcpy(root.handle, root_handle, size);
    root.handle_size = size;
    root.n_lookups = 1;
    return true;
}

struct node *wt_find_node(const nfs_fh3 *handle) {
    const char *bytes = handle->data.data_val;
    uint32_t size = handle->data.data_len;
    if (size == root.handle_size && memcmp(bytes, root.handle, size) == 0) {
        return &root;
    }
    for (struct node *node = buckets[bucket_of(bytes, size)]; node != NULL; node = node->next) {
        if (node->handle_size == size && memcmp(bytes, node->handle, size) == 0) {
            return node;
        }
    }
    return NULL;
}

struct node *wt_node_for_handle(const nfs_fh3 *handle) {
    struct node *node = wt_find_node(handle);
    if (node == NULL) {
        if (handle->data.data_len > MAX_HANDLE || (node = calloc(1, sizeof *node)) == NULL) {
            return NULL;
        }
        node->handle_size = handle->data.data_len;
        memcpy(node->handle, handle->data.data_val, node->handle_size);
        struct node **bucket = &buckets[bucket_of(node->handle, node->handle_size)];
        node->next = *bucket;
        *bucket = node;
    }
    node->n_lookups++;
    return node;
}

void wt_forget_node(struct node *node, uint64_t n_lookups) {
    node->n_lookups -= n_lookups < node->n_lookups ? n_lookups : node->n_lookups;
    if (node == &root || node->n_lookups > 0) {
        return;
    }
    struct node **at = &buckets[bucket_of(node->handle, node->handle_size)];
    while (*at != NULL && *at != node) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = node->next;
    }
    free(node);
}

nfs_fh3 wt_handle_of(struct node *node) {
    nfs_fh3 handle = {.data = {.data_len = node->handle_size, .data_val = node->handle}};
    return handle;
}
