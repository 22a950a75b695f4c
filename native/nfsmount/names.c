/* Names: looking up, making, renaming and removing them. NFS 3 knows no open files: one that is removed while
 * it is open gets a hidden name, and goes when it is closed. A server may leave handles and attributes out of
 * a reply, and is then asked for them. */
#include "mount.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sysmacros.h>

static int error_in(int status, const void *result) {
    /* every NFS 3 result begins with its status */
    return wt_error_of(status, status == RPC_STATUS_SUCCESS ? *(const nfsstat3 *)result : NFS3_OK);
}

static diropargs3 place(struct node *directory, char *name) {
    diropargs3 where = {.dir = wt_handle_of(directory), .name = name};
    return where;
}

static struct call *begin_named(fuse_req_t req, fuse_ino_t parent, const char *name) {
    struct call *call = wt_begin(req, parent);
    if (call == NULL) {
        return NULL;
    }
    call->parent = call->node;
    call->node = NULL;
    if (!wt_set_name(call->name, name)) {
        wt_end_with_error(call, ENAMETOOLONG);
        return NULL;
    }
    return call;
}

static void on_lookup(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    LOOKUP3res *result = data;
    int error = error_in(status, result);
    (void)rpc;
    if (error != 0) {
        wt_end_with_error(call, error);
    } else {
        wt_reply_entry(call, &result->LOOKUP3res_u.resok.object, &result->LOOKUP3res_u.resok.obj_attributes);
    }
}

static void look_up(struct call *call) {
    LOOKUP3args args = {.what = place(call->parent, call->name)};
    wt_sent_or_error(rpc_nfs3_lookup_async(wt_client.rpc, on_lookup, &args, call), call);
}

void wt_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name) {
    struct call *call = begin_named(req, parent, name);
    if (call != NULL) {
        look_up(call);
    }
}

void wt_op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n_lookups) {
    wt_forget_node(wt_node_of(ino), n_lookups);
    fuse_reply_none(req);
}

/* The reply of CREATE, MKDIR, SYMLINK and MKNOD has one form. */
static void on_made(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    CREATE3res *result = data;
    int error = error_in(status, result);
    (void)rpc;
    if (error != 0) {
        wt_end_with_error(call, error);
        return;
    }
    const CREATE3resok *ok = &result->CREATE3res_u.resok;
    if (ok->obj.handle_follows) {
        wt_reply_entry(call, &ok->obj.post_op_fh3_u.handle, &ok->obj_attributes);
    } else { /* a server may leave the handle out */
        look_up(call);
    }
}

static sattr3 with_mode(mode_t mode) {
    sattr3 attributes = {.mode = {.set_it = 1, .set_mode3_u = {.mode = mode & 07777}}};
    return attributes;
}

void wt_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode) {
    struct call *call = begin_named(req, parent, name);
    if (call == NULL) {
        return;
    }
    MKDIR3args args = {.where = place(call->parent, call->name), .attributes = with_mode(mode)};
    wt_sent_or_error(rpc_nfs3_mkdir_async(wt_client.rpc, on_made, &args, call), call);
}

void wt_op_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name) {
    struct call *call = begin_named(req, parent, name);
    if (call == NULL) {
        return;
    }
    SYMLINK3args args = {.where = place(call->parent, call->name)};
    args.symlink.symlink_attributes = with_mode(0777);
    args.symlink.symlink_data = (char *)(uintptr_t)link; /* only read */
    wt_sent_or_error(rpc_nfs3_symlink_async(wt_client.rpc, on_made, &args, call), call);
}

static void make_file(struct call *call, mode_t mode, createmode3 how, bool empty, rpc_cb callback) {
    CREATE3args args = {.where = place(call->parent, call->name), .how = {.mode = how}};
    args.how.createhow3_u.obj_attributes = with_mode(mode);
    args.how.createhow3_u.obj_attributes.size.set_it =
        empty; /* to 0: another node may have made it just now */
    wt_sent_or_error(rpc_nfs3_create_async(wt_client.rpc, callback, &args, call), call);
}

void wt_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev) {
    struct call *call = begin_named(req, parent, name);
    if (call == NULL) {
        return;
    }
    MKNOD3args args = {.where = place(call->parent, call->name)};
    switch (mode & S_IFMT) {
    case S_IFIFO:
    case S_IFSOCK:
        args.what.type = S_ISFIFO(mode) ? NF3FIFO : NF3SOCK;
        args.what.mknoddata3_u.pipe_attributes = with_mode(mode);
        break;
    case S_IFCHR:
    case S_IFBLK:
        args.what.type = S_ISCHR(mode) ? NF3CHR : NF3BLK;
        args.what.mknoddata3_u.chr_device.dev_attributes = with_mode(mode);
        args.what.mknoddata3_u.chr_device.spec.specdata1 = major(rdev);
        args.what.mknoddata3_u.chr_device.spec.specdata2 = minor(rdev);
        break;
    default:
        make_file(call, mode, GUARDED, false, on_made);
        return;
    }
    wt_sent_or_error(rpc_nfs3_mknod_async(wt_client.rpc, on_made, &args, call), call);
}

static void on_created_attributes(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    GETATTR3res *result = data;
    int error = error_in(status, result);
    (void)rpc;
    if (error == 0) {
        wt_finish_open(call, &result->GETATTR3res_u.resok.obj_attributes);
        return;
    }
    wt_forget_node(call->node, 1);
    wt_end_with_error(call, error);
}

static void on_created(struct rpc_context *rpc, int status, void *data, void *private_data);

/* O_CREAT without O_EXCL when the name is there already: the file's handle comes from a look-up. */
static void on_created_lookup(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    LOOKUP3res *result = data;
    int error = error_in(status, result);
    if (error == 0 && (call->node = wt_node_for_handle(&result->LOOKUP3res_u.resok.object)) == NULL) {
        error = ENOMEM;
    }
    if (error != 0) {
        wt_end_with_error(call, error);
        return;
    }
    GETATTR3args args = {.object = wt_handle_of(call->node)};
    wt_sent_or_error(rpc_nfs3_getattr_async(rpc, on_created_attributes, &args, call), call);
}

static void on_created(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    CREATE3res *result = data;
    int error = error_in(status, result);
    if (error != 0) {
        wt_end_with_error(call, error);
        return;
    }
    const CREATE3resok *ok = &result->CREATE3res_u.resok;
    if (!ok->obj.handle_follows) {
        LOOKUP3args args = {.what = place(call->parent, call->name)};
        wt_sent_or_error(rpc_nfs3_lookup_async(rpc, on_created_lookup, &args, call), call);
    } else if ((call->node = wt_node_for_handle(&ok->obj.post_op_fh3_u.handle)) == NULL) {
        wt_end_with_error(call, ENOMEM);
    } else if (ok->obj_attributes.attributes_follow) {
        wt_finish_open(call, &ok->obj_attributes.post_op_attr_u.attributes);
    } else {
        GETATTR3args args = {.object = wt_handle_of(call->node)};
        wt_sent_or_error(rpc_nfs3_getattr_async(rpc, on_created_attributes, &args, call), call);
    }
}

void wt_op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                  struct fuse_file_info *fi) {
    struct call *call = begin_named(req, parent, name);
    if (call == NULL) {
        return;
    }
    call->fi = *fi;
    call->plain = true; /* answered by fuse_reply_create */
    make_file(call, mode, (fi->flags & O_EXCL) ? GUARDED : UNCHECKED, (fi->flags & O_TRUNC) != 0, on_created);
}

static void on_readlink(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    READLINK3res *result = data;
    int error = error_in(status, result);
    (void)rpc;
    if (error != 0) {
        wt_end_with_error(call, error);
        return;
    }
    fuse_reply_readlink(call->req, result->READLINK3res_u.resok.data);
    free(call);
}

void wt_op_readlink(fuse_req_t req, fuse_ino_t ino) {
    struct call *call = wt_begin(req, ino);
    if (call == NULL) {
        return;
    }
    READLINK3args args = {.symlink = wt_handle_of(call->node)};
    wt_sent_or_error(rpc_nfs3_readlink_async(wt_client.rpc, on_readlink, &args, call), call);
}

/* REMOVE, RMDIR, RENAME, LINK: nothing but a status. */
static void on_done(struct rpc_context *rpc, int status, void *data, void *private_data) {
    (void)rpc;
    wt_end_with_error(private_data, error_in(status, data));
}

static void on_hidden(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    int error = error_in(status, data);
    (void)rpc;
    if (error == 0) {
        call->node->hidden_in = call->parent;
        memcpy(call->node->hidden_name, call->new_name, sizeof call->node->hidden_name);
        call->parent->n_lookups++; /* it must outlive the file that waits in it */
    }
    wt_forget_node(call->node, 1);
    wt_end_with_error(call, error);
}

/* NFS 3 knows no open files: one that is removed while open is renamed, and removed when it is closed. */
static void on_unlink_lookup(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    LOOKUP3res *result = data;
    int error = error_in(status, result);
    if (error != 0) {
        wt_end_with_error(call, error);
        return;
    }
    struct node *node = wt_find_node(&result->LOOKUP3res_u.resok.object);
    if (node == NULL || node->n_open == 0 || node->hidden_in != NULL) {
        REMOVE3args args = {.object = place(call->parent, call->name)};
        wt_sent_or_error(rpc_nfs3_remove_async(rpc, on_done, &args, call), call);
        return;
    }
    call->node = node;
    node->n_lookups++;
    uint64_t unique[2] = {(uint64_t)(uintptr_t)node,
                          ++wt_client.n_hidden}; /* other nodes hide files here too */
    (void)!getrandom(&unique[0], sizeof unique[0], 0);
    snprintf(call->new_name, sizeof node->hidden_name, ".nfs%016llx%08x", (unsigned long long)unique[0],
             (unsigned)unique[1]);
    RENAME3args args = {.from = place(call->parent, call->name), .to = place(call->parent, call->new_name)};
    wt_sent_or_error(rpc_nfs3_rename_async(rpc, on_hidden, &args, call), call);
}

void wt_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name) {
    struct call *call = begin_named(req, parent, name);
    if (call == NULL) {
        return;
    }
    LOOKUP3args args = {.what = place(call->parent, call->name)};
    wt_sent_or_error(rpc_nfs3_lookup_async(wt_client.rpc, on_unlink_lookup, &args, call), call);
}

static void on_hidden_removed(struct rpc_context *rpc, int status, void *data, void *private_data) {
    (void)rpc;
    (void)status;
    (void)data;
    wt_forget_node(private_data, 1); /* the directory */
}

void wt_remove_hidden(struct node *node) {
    struct node *directory = node->hidden_in;
    if (directory == NULL) {
        return;
    }
    REMOVE3args args = {.object = place(directory, node->hidden_name)};
    node->hidden_in = NULL;
    if (rpc_nfs3_remove_async(wt_client.rpc, on_hidden_removed, &args, directory) != 0) {
        wt_forget_node(directory, 1);
    }
}

void wt_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name) {
    struct call *call = begin_named(req, parent, name);
    if (call == NULL) {
        return;
    }
    RMDIR3args args = {.object = place(call->parent, call->name)};
    wt_sent_or_error(rpc_nfs3_rmdir_async(wt_client.rpc, on_done, &args, call), call);
}

void wt_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *new_name,
                  unsigned flags) {
    if (flags != 0) { /* RENAME_NOREPLACE, RENAME_EXCHANGE: NFS 3 has no word for them */
        fuse_reply_err(req, EINVAL);
        return;
    }
    struct call *call = begin_named(req, parent, name);
    if (call == NULL) {
        return;
    }
    if (!wt_set_name(call->new_name, new_name)) {
        wt_end_with_error(call, ENAMETOOLONG);
        return;
    }
    RENAME3args args = {.from = place(call->parent, call->name), .to = place(wt_node_of(to), call->new_name)};
    wt_sent_or_error(rpc_nfs3_rename_async(wt_client.rpc, on_done, &args, call), call);
}

static void on_linked(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    int error = error_in(status, data);
    (void)rpc;
    if (error != 0) {
        wt_end_with_error(call, error);
    } else {
        look_up(call);
    }
}

void wt_op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name) {
    struct call *call = begin_named(req, parent, name);
    if (call == NULL) {
        return;
    }
    LINK3args args = {.file = wt_handle_of(wt_node_of(ino)), .link = place(call->parent, call->name)};
    wt_sent_or_error(rpc_nfs3_link_async(wt_client.rpc, on_linked, &args, call), call);
}
