/* Copies inside of the kernel, and asynchronous I/O. One system call stands for two calls of the plan: it is
 * made at the second, when both files are known. */
#define _GNU_SOURCE
#include "backends/kernel_copies.h"

#include "failure.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

enum { PIECE = 1 << 20 }; /* bytes at a time through memory */

static bool through_memory;
static struct {
    enum call call;
    struct open_file *file; /* NULL: none has begun */
    int64_t size, offset;
} begun;
static char *piece;

void wt_copies_through_memory(bool yes) {
    through_memory = yes;
}

bool wt_copies_waiting(void) {
    return begun.file != NULL;
}

/* NULL where the file pointer is at the place already: the call goes by it, and moves it, as cp's does. */
static off_t *place_of(const struct open_file *file, off_t *offset) {
    return file->position == *offset ? NULL : offset;
}

static void note_moved(struct open_file *file, const off_t *place, int64_t moved) {
    if (!place) {
        file->position += moved;
    }
}

static int64_t read_piece(struct open_file *from, int64_t offset, int64_t size) {
    if (!piece) {
        piece = wt_must_alloc(PIECE);
    }
    return pread(from->fd, piece, (size_t)(size < PIECE ? size : PIECE), offset);
}

/* Where the file system cannot copy from the one to the other, or the other is appended to. */
static int64_t copy_by_hand(struct open_file *to, int64_t offset, int64_t done) {
    while (done < begun.size) {
        int64_t n = read_piece(begun.file, begun.offset + done, begun.size - done);
        if (n == 0) {
            break;
        }
        if (n < 0 || pwrite(to->fd, piece, (size_t)n, offset + done) != n) {
            return -1;
        }
        done += n;
    }
    return done;
}

static int64_t copy_range(struct open_file *to, int64_t offset) {
    int64_t done = 0;
    do {
        off_t in = begun.offset + done, out = offset + done;
        off_t *from_place = place_of(begun.file, &in), *to_place = place_of(to, &out);
        ssize_t n =
            copy_file_range(begun.file->fd, from_place, to->fd, to_place, (size_t)(begun.size - done), 0);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return copy_by_hand(to, offset, done);
        }
        if (n == 0) {
            break;
        }
        note_moved(begun.file, from_place, n);
        note_moved(to, to_place, n);
        done += n;
    } while (done < begun.size);
    return done;
}

/* By the pointer of the file that is written: the caller has put it there, and moves it on. */
static int64_t send_all(int to) {
    int64_t done = 0;
    do {
        off_t in = begun.offset + done;
        off_t *place = place_of(begun.file, &in);
        ssize_t n = sendfile(to, begun.file->fd, place, (size_t)(begun.size - done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -1;
        }
        if (n == 0) {
            break;
        }
        note_moved(begun.file, place, n);
        done += n;
    } while (done < begun.size);
    return done;
}

static bool send_to_nobody(void) {
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    bool sent = null >= 0 && send_all(null) >= 0;
    int error = errno;
    close(null);
    errno = error;
    return sent;
}

/* A file that goes at once, beside the one that is read, for copies to files that the plan does not have. Its
 * name is one that a tracer leaves out. */
static int sink_beside(const struct open_file *file) {
    char path[4096];
    const char *own = file->file->names[0].path, *slash = strrchr(own, '/');
    if (!slash || snprintf(path, sizeof path, "%.*s/.wavetank-copy.%d", (int)(slash - own), own,
                           (int)getpid()) >= (int)sizeof path) {
        return -1;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        unlink(path);
    }
    return fd;
}

static bool read_alone(void) {
    static int sink = -1;
    if (sink < 0) {
        sink = sink_beside(begun.file);
    }
    for (int64_t done = 0; sink >= 0;) {
        off_t in = begun.offset + done, out = 0;
        off_t *place = place_of(begun.file, &in);
        ssize_t n = copy_file_range(begun.file->fd, place, sink, &out, (size_t)(begun.size - done), 0);
        if (n < 0) {
            break;
        }
        note_moved(begun.file, place, n);
        done += n;
        if (n == 0 || done >= begun.size) {
            return true;
        }
    }
    for (int64_t done = 0, n; done < begun.size; done += n) {
        n = read_piece(begun.file, begun.offset + done, begun.size - done);
        if (n < 0) {
            return false;
        }
        if (n == 0) {
            break;
        }
    }
    return true;
}

bool wt_copies_finish(void) {
    if (!begun.file) {
        return true;
    }
    bool done = begun.call == CALL_SENDFILE_FROM ? send_to_nobody() : read_alone();
    begun.file = NULL;
    return done;
}

static int64_t begin(enum call call, struct open_file *file, char *buffer, int64_t size, int64_t offset) {
    if (through_memory) {
        return pread(file->fd, buffer, (size_t)size, offset);
    }
    if (!wt_copies_finish()) {
        return -1;
    }
    begun.call = call;
    begun.file = file;
    begun.size = size;
    begun.offset = offset;
    return size;
}

static int64_t note_end(struct open_file *file, int64_t offset, int64_t moved) {
    if (moved > 0) {
        file->copied_to = offset + moved;
    }
    return moved;
}

static int64_t copy_from(struct open_file *file, char *buffer, int64_t size, int64_t offset) {
    return note_end(file, offset, begin(CALL_COPY_FROM, file, buffer, size, offset));
}

static int64_t send_from(struct open_file *file, char *buffer, int64_t size, int64_t offset) {
    return note_end(file, offset, begin(CALL_SENDFILE_FROM, file, buffer, size, offset));
}

/* From a file that the plan does not have. */
static int64_t copy_of_nobody(struct open_file *to, int64_t size, int64_t offset) {
    if (!piece) {
        piece = wt_must_alloc(PIECE);
    }
    for (int64_t done = 0, n; done < size; done += n) {
        n = pwrite(to->fd, piece, (size_t)(size - done < PIECE ? size - done : PIECE), offset + done);
        if (n < 0) {
            return -1;
        }
    }
    return size;
}

static int64_t copy_to(struct open_file *file, char *buffer, int64_t size, int64_t offset) {
    if (through_memory) {
        return note_end(file, offset, pwrite(file->fd, buffer, (size_t)size, offset));
    }
    if (!begun.file || begun.size != size) {
        return wt_copies_finish() ? note_end(file, offset, copy_of_nobody(file, size, offset)) : -1;
    }
    int64_t moved = copy_range(file, offset);
    begun.file = NULL;
    return note_end(file, offset, moved);
}

/* From a pipe or a file that the plan does not have: pages of memory stand for it. */
static int64_t send_of_nobody(struct open_file *to, int64_t size) {
    int source = memfd_create("wavetank", MFD_CLOEXEC);
    int64_t moved = -1;
    if (source >= 0 && ftruncate(source, size) == 0) {
        for (moved = 0; moved < size;) {
            off_t from = moved;
            ssize_t n = sendfile(to->fd, source, &from, (size_t)(size - moved));
            if (n <= 0) {
                moved = n < 0 ? -1 : moved;
                break;
            }
            moved += n;
        }
    }
    int error = errno;
    if (source >= 0) {
        close(source);
    }
    errno = error;
    return moved;
}

static int64_t send_to(struct open_file *file, char *buffer, int64_t size, int64_t offset) {
    if (through_memory) {
        return note_end(file, offset, write(file->fd, buffer, (size_t)size));
    }
    if (!begun.file || begun.size != size) {
        return wt_copies_finish() ? note_end(file, offset, send_of_nobody(file, size)) : -1;
    }
    int64_t moved = send_all(file->fd);
    begun.file = NULL;
    return note_end(file, offset, moved);
}

/* ---- aio ---- */

static int64_t complete_aio(struct aiocb *operation, int begun_as) {
    const struct aiocb *list[1] = {operation};
    if (begun_as != 0) {
        return -1;
    }
    while (aio_error(operation) == EINPROGRESS) {
        aio_suspend(list, 1, NULL);
    }
    int error = aio_error(operation);
    ssize_t moved = aio_return(operation);
    errno = error;
    return moved;
}

static int64_t read_aio(struct open_file *file, char *buffer, int64_t size, int64_t offset) {
    struct aiocb operation = {
        .aio_fildes = file->fd, .aio_buf = buffer, .aio_nbytes = (size_t)size, .aio_offset = offset};
    return complete_aio(&operation, aio_read(&operation));
}

static int64_t write_aio(struct open_file *file, char *buffer, int64_t size, int64_t offset) {
    struct aiocb operation = {
        .aio_fildes = file->fd, .aio_buf = buffer, .aio_nbytes = (size_t)size, .aio_offset = offset};
    return complete_aio(&operation, aio_write(&operation));
}

bool wt_sync_aio(struct open_file *file) {
    struct aiocb operation = {.aio_fildes = file->fd};
    return complete_aio(&operation, aio_fsync(O_SYNC, &operation)) >= 0;
}

data_call wt_copy_call(enum call call) {
    switch (call) {
    case CALL_COPY_FROM:
        return copy_from;
    case CALL_COPY_TO:
        return copy_to;
    case CALL_SENDFILE_FROM:
        return send_from;
    case CALL_SENDFILE_TO:
        return send_to;
    case CALL_AIO_READ:
        return read_aio;
    default:
        return write_aio;
    }
}
