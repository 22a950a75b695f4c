/* Listing directories: one READDIR a request; the server's cookies are the kernel's offsets, so that no
 * listing is kept between requests. */
#include "mount.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Cookies are only good with the verifier that came with them; the kernel has no place for it, so the
 * directory's node keeps the last one (ganesha and knfsd send zeros or a change time). */
static void on_readdir(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct call *call = private_data;
    READDIR3res *result = data;
    int error = wt_error_of(status, status == RPC_STATUS_SUCCESS ? result->status : NFS3_OK);
    size_t used = 0;
    (void)rpc;
    if (error == 0 && (call->buffer = malloc(call->size)) == NULL) {
        error = ENOMEM;
    }
    if (error != 0) {
        wt_end_with_error(call, error);
        return;
    }
    memcpy(call->node->verifier, result->READDIR3res_u.resok.cookieverf, sizeof call->node->verifier);
    for (const entry3 *entry = result->READDIR3res_u.resok.reply.entries; entry != NULL;
         entry = entry->nextentry) {
        struct stat attr = {.st_ino = entry->fileid};
        size_t needed = fuse_add_direntry(call->req, call->buffer + used, call->size - used, entry->name,
                                          &attr, (off_t)entry->cookie);
        if (needed > call->size - used) {
            break;
        }
        used += needed;
    }
    fuse_reply_buf(call->req, call->buffer, used);
    free(call->buffer);
    free(call);
}

void wt_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi) {
    struct call *call = wt_begin(req, ino);
    (void)fi;
    if (call == NULL) {
        return;
    }
    call->size = size;
    READDIR3args args = {.dir = wt_handle_of(call->node), .cookie = (cookie3)offset, .count = (count3)size};
    if (offset != 0) {
        memcpy(args.cookieverf, call->node->verifier, sizeof call->node->verifier);
    }
    wt_sent_or_error(rpc_nfs3_readdir_async(wt_client.rpc, on_readdir, &args, call), call);
}
