/* wavetank-nfs-mount: mounts an NFS 3 export over FUSE, for kernels without an NFS client.
 *
 *   wavetank-nfs-mount SERVER:/EXPORT MOUNTPOINT [-o name=value,...]
 *     port=2049 mountport=20048 rsize=1048576 wsize=1048576 timeout=1 (seconds that attributes are believed)
 *     direct (no page cache) sync (writes are on disk when they return)
 *     keepalive=60 (seconds between calls that do nothing)
 *
 * Debian 12 has nothing else that mounts NFS over FUSE. Where the kernel has a client, that one is used.
 *
 * Stays in the foreground until it is unmounted, or the server is gone for 15 s: one that starts again
 * meanwhile is connected to again, and answers what it was asked before. Locks are local to the node.
 */
#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <nfsc/libnfs-raw-mount.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct options {
    char *server;
    char *export;
    const char *at;
    int port;
    int mount_port;
    int keep_alive_s;
};

/* of libnfs 4, which exports it and has it in no header */
extern void rpc_set_autoreconnect(struct rpc_context *rpc, int num_retries);

static void fail(const char *what, const char *why) {
    fprintf(stderr, "wavetank-nfs-mount: %s: %s\n", what, why);
    exit(1);
}

/* One step of the connection, waited for. */
struct step {
    bool is_done;
    int status;
    nfs_fh3 handle;
    char bytes[MAX_HANDLE];
    uint32_t read_size;
    uint32_t write_size;
    mountstat3 mount_status;
};

static void wait_for(struct rpc_context *rpc, struct step *step, const char *what) {
    enum { PATIENCE_MS = 60000 };
    while (!step->is_done) {
        struct pollfd fd = {.fd = rpc_get_fd(rpc), .events = (short)rpc_which_events(rpc)};
        int n = poll(&fd, 1, PATIENCE_MS);
        if (n == 0) {
            fail(what, "the server does not answer within 60 s");
        }
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (rpc_service(rpc, fd.revents) < 0) {
            fail(what, rpc_get_error(rpc));
        }
    }
    if (step->status != RPC_STATUS_SUCCESS) {
        fail(what, rpc_get_error(rpc));
    }
    step->is_done = false;
}

static void on_step(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct step *step = private_data;
    (void)rpc;
    (void)data;
    step->is_done = true;
    step->status = status;
}

static void on_mounted(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct step *step = private_data;
    on_step(rpc, status, data, private_data);
    if (status != RPC_STATUS_SUCCESS) {
        return;
    }
    mountres3 *result = data;
    step->mount_status = result->fhs_status;
    if (result->fhs_status != MNT3_OK) {
        return;
    }
    const fhandle3 *handle = &result->mountres3_u.mountinfo.fhandle;
    step->handle.data.data_len = handle->fhandle3_len;
    if (handle->fhandle3_len <= MAX_HANDLE) {
        memcpy(step->bytes, handle->fhandle3_val, handle->fhandle3_len);
    }
}

static void on_fsinfo(struct rpc_context *rpc, int status, void *data, void *private_data) {
    struct step *step = private_data;
    FSINFO3res *result = data;
    on_step(rpc, status, data, private_data);
    if (status != RPC_STATUS_SUCCESS || result->status != NFS3_OK) {
        return;
    }
    step->read_size = result->FSINFO3res_u.resok.rtmax;
    step->write_size = result->FSINFO3res_u.resok.wtmax;
}

static struct rpc_context *connect_to(const struct options *options, int port, int program, int version) {
    struct step step = {0};
    struct rpc_context *rpc = rpc_init_context();
    if (rpc == NULL) {
        fail("connect", "no memory");
    }
    if (rpc_connect_port_async(rpc, options->server, port, program, version, on_step, &step) != 0) {
        fail("connect", rpc_get_error(rpc));
    }
    wait_for(rpc, &step, "connect");
    return rpc;
}

static void connect_client(const struct options *options) {
    struct step step = {0};
    struct rpc_context *mount = connect_to(options, options->mount_port, MOUNT_PROGRAM, MOUNT_V3);
    if (rpc_mount3_mnt_async(mount, on_mounted, options->export, &step) != 0) {
        fail("mount", rpc_get_error(mount));
    }
    wait_for(mount, &step, "mount");
    if (step.mount_status != MNT3_OK) {
        fail(options->export, strerror((int)step.mount_status < 64 ? (int)step.mount_status : EIO));
    }
    rpc_destroy_context(mount);
    if (!wt_start_nodes(step.bytes, step.handle.data.data_len)) {
        fail("mount", "the server's file handles are longer than NFS 3 allows");
    }
    wt_client.rpc = connect_to(options, options->port, NFS_PROGRAM, NFS_V3);
    FSINFO3args args = {.fsroot = wt_handle_of(wt_node_of(FUSE_ROOT_ID))};
    if (rpc_nfs3_fsinfo_async(wt_client.rpc, on_fsinfo, &args, &step) != 0) {
        fail("fsinfo", rpc_get_error(wt_client.rpc));
    }
    wait_for(wt_client.rpc, &step, "fsinfo");
    if (step.read_size != 0 && step.read_size < wt_client.read_size) {
        wt_client.read_size = step.read_size;
    }
    if (step.write_size != 0 && step.write_size < wt_client.write_size) {
        wt_client.write_size = step.write_size;
    }
    rpc_set_autoreconnect(wt_client.rpc, -1);
}

static void on_init(void *userdata, struct fuse_conn_info *conn) {
    (void)userdata;
    conn->max_write = wt_client.write_size;
    conn->max_read = wt_client.read_size;
    conn->max_readahead = LARGEST_TRANSFER;
    conn->max_background = 64; /* read-ahead of several streams at once */
    conn->congestion_threshold = 48;
    conn->want |= conn->capable & (FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_AUTO_INVAL_DATA);
    /* never the write-back cache: it writes whole pages, and would undo what another node wrote beside */
    conn->want &= ~(unsigned)FUSE_CAP_WRITEBACK_CACHE;
    /* O_TRUNC comes as a setattr of its own, before the open */
    conn->want &= ~(unsigned)FUSE_CAP_ATOMIC_O_TRUNC;
}

static const struct fuse_lowlevel_ops operations = {
    .init = on_init,
    .lookup = wt_op_lookup,
    .forget = wt_op_forget,
    .getattr = wt_op_getattr,
    .setattr = wt_op_setattr,
    .readlink = wt_op_readlink,
    .mknod = wt_op_mknod,
    .mkdir = wt_op_mkdir,
    .unlink = wt_op_unlink,
    .rmdir = wt_op_rmdir,
    .symlink = wt_op_symlink,
    .rename = wt_op_rename,
    .link = wt_op_link,
    .open = wt_op_open,
    .create = wt_op_create,
    .read = wt_op_read,
    .write = wt_op_write,
    .flush = wt_op_flush,
    .fsync = wt_op_fsync,
    .release = wt_op_release,
    .readdir = wt_op_readdir,
    .statfs = wt_op_statfs,
};

static int take_requests(struct fuse_buf *buffer) {
    for (;;) {
        int n = fuse_session_receive_buf(wt_client.session, buffer);
        if (n == -EINTR) {
            continue;
        }
        if (n == -EAGAIN) {
            return 0;
        }
        if (n <= 0) {
            return -1; /* unmounted */
        }
        fuse_session_process_buf(wt_client.session, buffer);
    }
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_null(struct rpc_context *rpc, int status, void *data, void *private_data) {
    (void)rpc;
    (void)status; /* whether there is a connection, is_connected says */
    (void)data;
    (void)private_data;
}

/* libnfs waits for a socket to be writable, and for nothing else, until it is connected. */
static bool is_connected(void) {
    return (rpc_which_events(wt_client.rpc) & POLLIN) != 0;
}

static void say_gone(void) {
    const char *why = rpc_get_error(wt_client.rpc);
    fprintf(stderr, "wavetank-nfs-mount: the server is gone: %s\n",
            why != NULL ? why : "it closed the connection");
}

/* NFS servers close connections on which nothing comes: nfs-ganesha after 300 s, Linux after 360 s. */
static int serve(int keep_alive_s) {
    enum { PATIENCE_MS = 15000, LOOK_MS = 500, PAUSE_US = 50000 };
    struct fuse_buf buffer = {.mem = NULL};
    const int64_t interval_ms = (int64_t)keep_alive_s * 1000;
    int64_t next_call_ms = now_ms() + interval_ms;
    int64_t connected_ms = now_ms();
    int fuse_fd = fuse_session_fd(wt_client.session);
    int status = 0;
    fcntl(fuse_fd, F_SETFL, fcntl(fuse_fd, F_GETFL) | O_NONBLOCK);
    while (!fuse_session_exited(wt_client.session)) {
        struct pollfd fds[] = {
            {.fd = fuse_fd, .events = POLLIN},
            {.fd = rpc_get_fd(wt_client.rpc), .events = (short)rpc_which_events(wt_client.rpc)}};
        int64_t left_ms = next_call_ms - now_ms();
        bool connected = is_connected();
        if (connected) {
            connected_ms = now_ms();
        } else if (now_ms() - connected_ms > PATIENCE_MS) {
            say_gone();
            status = 1;
            break;
        }
        if (connected && left_ms <= 0) {
            rpc_nfs3_null_async(wt_client.rpc, on_null, NULL);
            next_call_ms = now_ms() + interval_ms;
            continue;
        }
        if (poll(fds, 2, connected ? (int)left_ms : LOOK_MS) < 0 && errno != EINTR) {
            break;
        }
        if (fds[1].revents != 0) {
            if (rpc_service(wt_client.rpc, fds[1].revents) < 0) {
                say_gone();
                status = 1;
                break;
            }
            if (!is_connected()) {
                usleep(PAUSE_US); /* a server that is about to start refuses at once */
            }
        }
        if (fds[0].revents != 0 && take_requests(&buffer) != 0) {
            break;
        }
    }
    free(buffer.mem);
    return status;
}

static void parse_option(struct options *options, char *option) {
    char *value = strchr(option, '=');
    if (value != NULL) {
        *value++ = '\0';
    }
    unsigned long number = value == NULL ? 0 : strtoul(value, NULL, 10);
    if (strcmp(option, "port") == 0) {
        options->port = (int)number;
    } else if (strcmp(option, "mountport") == 0) {
        options->mount_port = (int)number;
    } else if (strcmp(option, "rsize") == 0 && number >= 4096) {
        wt_client.read_size = number < LARGEST_TRANSFER ? (uint32_t)number : LARGEST_TRANSFER;
    } else if (strcmp(option, "wsize") == 0 && number >= 4096) {
        wt_client.write_size = number < LARGEST_TRANSFER ? (uint32_t)number : LARGEST_TRANSFER;
    } else if (strcmp(option, "keepalive") == 0 && number >= 1 && number <= 3600) {
        options->keep_alive_s = (int)number;
    } else if (strcmp(option, "timeout") == 0 && value != NULL) {
        wt_client.timeout_s = strtod(value, NULL);
    } else if (strcmp(option, "direct") == 0) {
        wt_client.direct = true;
    } else if (strcmp(option, "sync") == 0) {
        wt_client.sync = true;
    } else {
        fail(option, "no such option, or its value is too small");
    }
}

static void parse(struct options *options, int argc, char **argv) {
    char *colon = argc >= 3 ? strchr(argv[1], ':') : NULL;
    if (colon == NULL || colon[1] != '/') {
        fail("usage", "wavetank-nfs-mount SERVER:/EXPORT MOUNTPOINT [-o name=value,...]");
    }
    *colon = '\0';
    options->server = argv[1];
    options->export = colon + 1;
    options->at = argv[2];
    for (int i = 3; i + 1 < argc && strcmp(argv[i], "-o") == 0; i += 2) {
        char *rest = NULL;
        for (char *option = strtok_r(argv[i + 1], ",", &rest); option != NULL;
             option = strtok_r(NULL, ",", &rest)) {
            parse_option(options, option);
        }
    }
}

int main(int argc, char **argv) {
    struct options options = {.port = 2049, .mount_port = 20048, .keep_alive_s = 60};
    char fuse_options[256];
    wt_client.read_size = LARGEST_TRANSFER;
    wt_client.write_size = LARGEST_TRANSFER;
    wt_client.timeout_s = 1.0;
    wt_client.uid = getuid();
    wt_client.gid = getgid();
    parse(&options, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    connect_client(&options);
    snprintf(fuse_options, sizeof fuse_options,
             "-oallow_other,default_permissions,subtype=wavetank-nfs,fsname=%s:%s,max_read=%u",
             options.server, options.export, wt_client.read_size);
    char *arguments[] = {argv[0], fuse_options, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(2, arguments);
    wt_client.session = fuse_session_new(&args, &operations, sizeof operations, NULL);
    if (wt_client.session == NULL || fuse_set_signal_handlers(wt_client.session) != 0 ||
        fuse_session_mount(wt_client.session, options.at) != 0) {
        fail(options.at, "cannot mount");
    }
    int status = serve(options.keep_alive_s);
    fuse_session_unmount(wt_client.session);
    fuse_remove_signal_handlers(wt_client.session);
    fuse_session_destroy(wt_client.session);
    fuse_opt_free_args(&args);
    return status;
}
