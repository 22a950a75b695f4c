/* wavetank-nfs-mount: shared declarations.
 *
 * One thread, one poll loop over the FUSE device and the server's socket: a request of the kernel
 * becomes one asynchronous NFS 3 call, and the call's reply becomes the kernel's. Many are under way
 * at once, and nothing needs a lock (a libnfs context must not be used by two threads).
 */
#ifndef WAVETANK_NFS_MOUNT_H
#define WAVETANK_NFS_MOUNT_H

#include <fuse_lowlevel.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* libnfs' headers only compile in this order */
/* clang-format off */
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>
/* clang-format on */

enum { MAX_HANDLE = 64 /* NFS3_FHSIZE */, LARGEST_TRANSFER = 1 << 20 /* FUSE's largest request */ };

/* A file or directory that the kernel knows. Its address is its inode number for FUSE. */
struct node {
    struct node *next; /* in the same bucket */
    uint64_t n_lookups;
    uint32_t n_open;
    uint32_t handle_size;
    char handle[MAX_HANDLE];
    uint64_t seen_mtime; /* of the content that the kernel may hold, ns; and its size */
    uint64_t seen_size;
    bool has_seen;
    bool unstable; /* written, not committed */
    bool lost;     /* the server restarted between a write and its commit */
    char verifier[NFS3_WRITEVERFSIZE];
    struct node *hidden_in; /* removed while open: its directory, and the name that it waits under */
    char hidden_name[32];
};

struct client {
    struct rpc_context *rpc;
    struct fuse_session *session;
    double timeout_s; /* for which the kernel may believe names and attributes */
    uint32_t read_size;
    uint32_t write_size;
    bool direct; /* no page cache: what another node wrote is seen at once */
    bool sync;   /* every write is on the server's disk when it returns */
    uint32_t uid;
    uint32_t gid;
    uint64_t n_hidden;
};

/* A call under way. */
struct call {
    fuse_req_t req;
    struct node *node;
    struct node *parent;
    struct node *other; /* second directory of a rename */
    struct fuse_file_info fi;
    off_t offset;
    size_t size;
    size_t done;
    char *buffer;
    char name[NAME_MAX + 1];
    char new_name[NAME_MAX + 1];
    bool plain; /* of this call, by its kind */
};

extern struct client wt_client;

/* nodes.c */
struct node *wt_node_of(fuse_ino_t ino);
fuse_ino_t wt_number_of(const struct node *node);
bool wt_start_nodes(const char *root_handle, uint32_t size);
struct node *wt_node_for_handle(const nfs_fh3 *handle); /* finds or makes; counts one lookup */
struct node *wt_find_node(const nfs_fh3 *handle);       /* NULL: the kernel does not know it */
void wt_forget_node(struct node *node, uint64_t n_lookups);
nfs_fh3 wt_handle_of(struct node *node);

/* attributes.c */
int wt_error_of(int rpc_status, nfsstat3 status); /* errno, 0 for success */
void wt_note_seen(struct node *node, const fattr3 *attributes);
struct call *wt_begin(fuse_req_t req, fuse_ino_t ino);
void wt_end_with_error(struct call *call, int error);
void wt_sent_or_error(int sent, struct call *call); /* the result of rpc_nfs3_..._async */
void wt_reply_entry(struct call *call, const nfs_fh3 *handle, const post_op_attr *attributes);
void wt_finish_open(struct call *call, const fattr3 *attributes); /* replies to an open or a create */
bool wt_set_name(char *to, const char *name);
void wt_op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void wt_op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi);
void wt_op_statfs(fuse_req_t req, fuse_ino_t ino);

/* names.c */
void wt_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void wt_op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n_lookups);
void wt_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void wt_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void wt_op_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name);
void wt_op_readlink(fuse_req_t req, fuse_ino_t ino);
void wt_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void wt_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void wt_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *new_name,
                  unsigned flags);
void wt_op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void wt_op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                  struct fuse_file_info *fi);
void wt_remove_hidden(struct node *node);

/* directories.c */
void wt_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi);

/* content.c */
void wt_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void wt_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi);
void wt_op_write(fuse_req_t req, fuse_ino_t ino, const char *buffer, size_t size, off_t offset,
                 struct fuse_file_info *fi);
void wt_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void wt_op_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi);
void wt_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

#endif
