/* Content: opening, reading, writing, and having it on the server's disk. An open asks for the attributes:
 * the kernel may keep its pages only if no other node has changed the file since. Writes are committed at
 * close and fsync. A server that restarted before may have lost them, so that another verifier is an I/O
 * error. */
#include "mount.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void on_open(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    GETATTR3res *result = data;
    int error = wt_error_of(status, status == RPC_STATUS_SUCCESS ? result->status : NFS3_OK);
    (void)rpc;
    if (error != 0) {
        wt_end_with_error(call, error);
    } else {
        wt_finish_open(call, &result->GETATTR3res_u.resok.obj_attributes);
    }
}

void wt_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
    struct call *call = wt_begin(req, ino);
    if (call == NULL) {
        return;
    }
    call->fi = *fi;
    GETATTR3args args = {.object = wt_handle_of(call->node)};
    wt_sent_or_error(rpc_nfs3_getattr_async(wt_client.rpc, on_open, &args, call), call);
}

static void read_on(struct call *call);

static void on_read(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    READ3res *result = data;
    int error = wt_error_of(status, status == RPC_STATUS_SUCCESS ? result->status : NFS3_OK);
    (void)rpc;
    if (error != 0) {
        wt_end_with_error(call, error);
        return;
    }
    const READ3resok *ok = &result->READ3res_u.resok;
    size_t n = ok->data.data_len < call->size - call->done ? ok->data.data_len : call->size - call->done;
    bool is_last = call->done + n == call->size || ok->eof || n == 0;
    if (is_last && call->done == 0) { /* nearly always: no copy of ours */
        fuse_reply_buf(call->req, ok->data.data_val, n);
        free(call);
        return;
    }
    /* the kernel takes a short read for the end of the file: ask for the rest */
    if (call->buffer == NULL && (call->buffer = malloc(call->size)) == NULL) {
        wt_end_with_error(call, ENOMEM);
        return;
    }
    memcpy(call->buffer + call->done, ok->data.data_val, n);
    call->done += n;
    if (!is_last) {
        read_on(call);
        return;
    }
    fuse_reply_buf(call->req, call->buffer, call->done);
    free(call->buffer);
    free(call);
}

static void read_on(struct call *call) {
    READ3args args = {.file = wt_handle_of(call->node),
                      .offset = (offset3)(call->offset + (off_t)call->done),
                      .count = (count3)(call->size - call->done)};
    if (args.count > wt_client.read_size) {
        args.count = wt_client.read_size;
    }
    wt_sent_or_error(rpc_nfs3_read_async(wt_client.rpc, on_read, &args, call), call);
}

void wt_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi) {
    struct call *call = wt_begin(req, ino);
    (void)fi;
    if (call == NULL) {
        return;
    }
    call->offset = offset;
    call->size = size;
    read_on(call);
}

static void on_write(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    WRITE3res *result = data;
    int error = wt_error_of(status, status == RPC_STATUS_SUCCESS ? result->status : NFS3_OK);
    (void)rpc;
    if (error != 0) {
        wt_end_with_error(call, error);
        return;
    }
    const WRITE3resok *ok = &result->WRITE3res_u.resok;
    struct node *node = call->node;
    if (ok->committed == UNSTABLE) {
        if (node->unstable && memcmp(node->verifier, ok->verf, sizeof node->verifier) != 0) {
            node->lost = true;
        }
        memcpy(node->verifier, ok->verf, sizeof node->verifier);
        node->unstable = true;
    }
    if (ok->file_wcc.after.attributes_follow) {
        wt_note_seen(node, &ok->file_wcc.after.post_op_attr_u.attributes);
    }
    fuse_reply_write(call->req, ok->count);
    free(call);
}

void wt_op_write(fuse_req_t req, fuse_ino_t ino, const char *buffer, size_t size, off_t offset,
                 struct fuse_file_info *fi) {
    struct call *call = wt_begin(req, ino);
    (void)fi;
    if (call == NULL) {
        return;
    }
    count3 count = size > wt_client.write_size ? wt_client.write_size
                                               : (count3)size; /* the kernel comes again for the rest */
    WRITE3args args = {.file = wt_handle_of(call->node), .offset = (offset3)offset, .count = count};
    args.stable = wt_client.sync ? FILE_SYNC : UNSTABLE;
    args.data.data_len = count;
    args.data.data_val = (char *)(uintptr_t)buffer; /* encoded before the call returns; only read */
    wt_sent_or_error(rpc_nfs3_write_async(wt_client.rpc, on_write, &args, call), call);
}

static void on_commit(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    COMMIT3res *result = data;
    int error = wt_error_of(status, status == RPC_STATUS_SUCCESS ? result->status : NFS3_OK);
    struct node *node = call->node;
    (void)rpc;
    if (error == 0) {
        if (node->lost ||
            memcmp(node->verifier, result->COMMIT3res_u.resok.verf, sizeof node->verifier) != 0) {
            error = EIO; /* the server restarted: what it had in memory is gone, and so is our copy */
        }
        node->lost = false;
    }
    wt_end_with_error(call, error);
}

static void commit(fuse_req_t req, fuse_ino_t ino) {
    struct call *call = wt_begin(req, ino);
    if (call == NULL) {
        return;
    }
    if (!call->node->unstable) {
        wt_end_with_error(call, 0);
        return;
    }
    call->node->unstable = false;
    COMMIT3args args = {.file = wt_handle_of(call->node)};
    wt_sent_or_error(rpc_nfs3_commit_async(wt_client.rpc, on_commit, &args, call), call);
}

void wt_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
    (void)fi;
    commit(req, ino);
}

void wt_op_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi) {
    (void)data_only;
    (void)fi;
    commit(req, ino);
}

void wt_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
    struct node *node = wt_node_of(ino);
    (void)fi;
    if (node->n_open > 0 && --node->n_open == 0) {
        wt_remove_hidden(node);
    }
    fuse_reply_err(req, 0);
}
