/* Attributes, errors, and the frame that every call has. They are together, since each reply ends with
 * attributes or an error; the calls of the other files stand on them. A call has its caller's user and group,
 * as the server decides what is allowed. A server may leave attributes out of a reply, and is then asked for
 * them. */
#include "mount.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

int wt_error_of(int rpc_status, nfsstat3 status) {
    if (rpc_status != RPC_STATUS_SUCCESS) {
        return rpc_status == RPC_STATUS_TIMEOUT ? ETIMEDOUT : EIO;
    }
    switch (status) {
    case NFS3_OK:
        return 0;
    case NFS3ERR_BADHANDLE:
        return ESTALE;
    case NFS3ERR_NOT_SYNC:
    case NFS3ERR_BAD_COOKIE:
    case NFS3ERR_TOOSMALL:
    case NFS3ERR_SERVERFAULT:
        return EIO;
    case NFS3ERR_NOTSUPP:
        return EOPNOTSUPP;
    case NFS3ERR_BADTYPE:
        return EINVAL;
    case NFS3ERR_JUKEBOX:
        return EAGAIN;
    case NFS3ERR_NAMETOOLONG:
        return ENAMETOOLONG;
    case NFS3ERR_NOTEMPTY:
        return ENOTEMPTY;
    case NFS3ERR_DQUOT:
        return EDQUOT;
    case NFS3ERR_STALE:
        return ESTALE;
    case NFS3ERR_REMOTE:
        return EREMOTE;
    default:
        return (int)status < 64 ? (int)status : EIO; /* the small numbers are Unix's own */
    }
}

static uint64_t ns_of(nfstime3 time) {
    return (uint64_t)time.seconds * 1000000000U + time.nseconds;
}

static struct timespec timespec_of(nfstime3 time) {
    struct timespec out = {.tv_sec = (time_t)time.seconds, .tv_nsec = (long)time.nseconds};
    return out;
}

static void stat_of(const fattr3 *from, struct stat *out) {
    static const mode_t types[] = {
        [NF3REG] = S_IFREG, [NF3DIR] = S_IFDIR,   [NF3BLK] = S_IFBLK, [NF3CHR] = S_IFCHR,
        [NF3LNK] = S_IFLNK, [NF3SOCK] = S_IFSOCK, [NF3FIFO] = S_IFIFO};
    memset(out, 0, sizeof *out);
    mode_t type = from->type >= NF3REG && from->type <= NF3FIFO ? types[from->type] : 0;
    out->st_mode = type | (mode_t)(from->mode & 07777);
    out->st_nlink = from->nlink;
    out->st_uid = from->uid;
    out->st_gid = from->gid;
    out->st_rdev = makedev(from->rdev.specdata1, from->rdev.specdata2);
    out->st_ino = from->fileid;
    out->st_size = (off_t)from->size;
    out->st_blocks = (blkcnt_t)((from->used + 511) / 512);
    out->st_blksize = (blksize_t)wt_client.write_size;
    out->st_atim = timespec_of(from->atime);
    out->st_mtim = timespec_of(from->mtime);
    out->st_ctim = timespec_of(from->ctime);
}

void wt_note_seen(struct node *node, const fattr3 *attributes) {
    node->seen_mtime = ns_of(attributes->mtime);
    node->seen_size = attributes->size;
    node->has_seen = true;
}

static bool is_unchanged(const struct node *node, const fattr3 *attributes) {
    return node->has_seen && node->seen_mtime == ns_of(attributes->mtime) &&
           node->seen_size == attributes->size;
}

struct call *wt_begin(fuse_req_t req, fuse_ino_t ino) {
    const struct fuse_ctx *who = fuse_req_ctx(req);
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL) {
        fuse_reply_err(req, ENOMEM);
        return NULL;
    }
    if (who->uid != wt_client.uid || who->gid != wt_client.gid) {
        wt_client.uid = who->uid;
        wt_client.gid = who->gid;
        rpc_set_uid(wt_client.rpc, (int)who->uid);
        rpc_set_gid(wt_client.rpc, (int)who->gid);
    }
    call->req = req;
    call->node = wt_node_of(ino);
    return call;
}

void wt_end_with_error(struct call *call, int error) {
    fuse_reply_err(call->req, error);
    free(call->buffer);
    free(call);
}

void wt_sent_or_error(int sent, struct call *call) {
    if (sent != 0) {
        wt_end_with_error(call, EIO);
    }
}

bool wt_set_name(char *to, const char *name) {
    size_t length = strlen(name);
    if (length > NAME_MAX) {
        return false;
    }
    memcpy(to, name, length + 1);
    return true;
}

static void on_entry_attributes(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    GETATTR3res *result = data;
    struct fuse_entry_param entry = {.attr_timeout = wt_client.timeout_s,
                                     .entry_timeout = wt_client.timeout_s};
    int error = wt_error_of(status, status == RPC_STATUS_SUCCESS ? result->status : NFS3_OK);
    (void)rpc;
    if (error != 0) {
        wt_forget_node(call->node, 1);
        wt_end_with_error(call, error);
        return;
    }
    entry.ino = wt_number_of(call->node);
    stat_of(&result->GETATTR3res_u.resok.obj_attributes, &entry.attr);
    fuse_reply_entry(call->req, &entry);
    free(call);
}

void wt_reply_entry(struct call *call, const nfs_fh3 *handle, const post_op_attr *attributes) {
    struct fuse_entry_param entry = {.attr_timeout = wt_client.timeout_s,
                                     .entry_timeout = wt_client.timeout_s};
    call->node = wt_node_for_handle(handle);
    if (call->node == NULL) {
        wt_end_with_error(call, ENOMEM);
    } else if (!attributes->attributes_follow) { /* a server may leave them out */
        GETATTR3args args = {.object = wt_handle_of(call->node)};
        wt_sent_or_error(rpc_nfs3_getattr_async(wt_client.rpc, on_entry_attributes, &args, call), call);
    } else {
        entry.ino = wt_number_of(call->node);
        stat_of(&attributes->post_op_attr_u.attributes, &entry.attr);
        fuse_reply_entry(call->req, &entry);
        free(call);
    }
}

/* Close-to-open: what the kernel holds of a file stays good when the file did not change since. */
void wt_finish_open(struct call *call, const fattr3 *attributes) {
    call->fi.keep_cache = !wt_client.direct && is_unchanged(call->node, attributes);
    call->fi.direct_io = wt_client.direct;
    call->node->n_open++;
    wt_note_seen(call->node, attributes);
    if (call->plain) {
        struct fuse_entry_param entry = {.attr_timeout = wt_client.timeout_s,
                                         .entry_timeout = wt_client.timeout_s};
        entry.ino = wt_number_of(call->node);
        stat_of(attributes, &entry.attr);
        fuse_reply_create(call->req, &entry, &call->fi);
    } else {
        fuse_reply_open(call->req, &call->fi);
    }
    free(call);
}

static void on_getattr(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    GETATTR3res *result = data;
    struct stat attr;
    int error = wt_error_of(status, status == RPC_STATUS_SUCCESS ? result->status : NFS3_OK);
    (void)rpc;
    if (error != 0) {
        wt_end_with_error(call, error);
        return;
    }
    stat_of(&result->GETATTR3res_u.resok.obj_attributes, &attr);
    fuse_reply_attr(call->req, &attr, wt_client.timeout_s);
    free(call);
}

void wt_op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
    struct call *call = wt_begin(req, ino);
    (void)fi;
    if (call == NULL) {
        return;
    }
    GETATTR3args args = {.object = wt_handle_of(call->node)};
    wt_sent_or_error(rpc_nfs3_getattr_async(wt_client.rpc, on_getattr, &args, call), call);
}

static void on_setattr(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    SETATTR3res *result = data;
    int error = wt_error_of(status, status == RPC_STATUS_SUCCESS ? result->status : NFS3_OK);
    if (error != 0) {
        wt_end_with_error(call, error);
        return;
    }
    const post_op_attr *after = &result->SETATTR3res_u.resok.obj_wcc.after;
    if (!after->attributes_follow) {
        GETATTR3args args = {.object = wt_handle_of(call->node)};
        wt_sent_or_error(rpc_nfs3_getattr_async(rpc, on_getattr, &args, call), call);
        return;
    }
    struct stat attr;
    stat_of(&after->post_op_attr_u.attributes, &attr);
    fuse_reply_attr(call->req, &attr, wt_client.timeout_s);
    free(call);
}

static nfstime3 nfstime_of(struct timespec time) {
    nfstime3 out = {.seconds = (u_int)time.tv_sec, .nseconds = (u_int)time.tv_nsec};
    return out;
}

void wt_op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi) {
    struct call *call = wt_begin(req, ino);
    (void)fi;
    if (call == NULL) {
        return;
    }
    SETATTR3args args = {.object = wt_handle_of(call->node)};
    sattr3 *new = &args.new_attributes;
    new->mode.set_it = (to_set & FUSE_SET_ATTR_MODE) != 0;
    new->mode.set_mode3_u.mode = attr->st_mode & 07777;
    new->uid.set_it = (to_set & FUSE_SET_ATTR_UID) != 0;
    new->uid.set_uid3_u.uid = attr->st_uid;
    new->gid.set_it = (to_set & FUSE_SET_ATTR_GID) != 0;
    new->gid.set_gid3_u.gid = attr->st_gid;
    new->size.set_it = (to_set & FUSE_SET_ATTR_SIZE) != 0;
    new->size.set_size3_u.size = (size3)attr->st_size;
    if (to_set & FUSE_SET_ATTR_ATIME_NOW) {
        new->atime.set_it = SET_TO_SERVER_TIME;
    } else if (to_set & FUSE_SET_ATTR_ATIME) {
        new->atime.set_it = SET_TO_CLIENT_TIME;
        new->atime.set_atime_u.atime = nfstime_of(attr->st_atim);
    }
    if (to_set & FUSE_SET_ATTR_MTIME_NOW) {
        new->mtime.set_it = SET_TO_SERVER_TIME;
    } else if (to_set & FUSE_SET_ATTR_MTIME) {
        new->mtime.set_it = SET_TO_CLIENT_TIME;
        new->mtime.set_mtime_u.mtime = nfstime_of(attr->st_mtim);
    }
    wt_sent_or_error(rpc_nfs3_setattr_async(wt_client.rpc, on_setattr, &args, call), call);
}

static void on_statfs(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    FSSTAT3res *result = data;
    int error = wt_error_of(status, status == RPC_STATUS_SUCCESS ? result->status : NFS3_OK);
    enum { BLOCK = 4096 };
    (void)rpc;
    if (error != 0) {
        wt_end_with_error(call, error);
        return;
    }
    const FSSTAT3resok *ok = &result->FSSTAT3res_u.resok;
    struct statvfs out = {
        .f_bsize = BLOCK,
        .f_frsize = BLOCK,
        .f_blocks = ok->tbytes / BLOCK,
        .f_bfree = ok->fbytes / BLOCK,
        .f_bavail = ok->abytes / BLOCK,
        .f_files = ok->tfiles,
        .f_ffree = ok->ffiles,
        .f_favail = ok->afiles,
        .f_namemax = NAME_MAX,
    };
    fuse_reply_statfs(call->req, &out);
    free(call);
}

void wt_op_statfs(fuse_req_t req, fuse_ino_t ino) {
    struct call *call = wt_begin(req, ino == 0 ? FUSE_ROOT_ID : ino);
    if (call == NULL) {
        return;
    }
    FSSTAT3args args = {.fsroot = wt_handle_of(call->node)};
    wt_sent_or_error(rpc_nfs3_fsstat_async(wt_client.rpc, on_statfs, &args, call), call);
}
