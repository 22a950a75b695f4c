/* Ranks by MPI. What the program does for itself is done by PMPI_ calls: a tracer of MPI calls then sees the
 * plan's calls alone, and the model of a traced replay is the model that the plan came from. */
#include "ranks/ranks_mpi.h"

#include "clock.h"
#include "failure.h"
#include "plan/plan.h"
#include "timing.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int my_rank, n_ranks;
static MPI_Comm *communicators;
static int n_communicators;

enum {
    TAG_CLOCK = 1,
    TAG_TEXT = 2,
    TAG_NONE = 3,
    TAG_ELEMENTS = 4,
    CLOCK_ROUNDS = 32,
    BCAST_CHUNK = 1 << 30
};

void wt_ranks_start(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
}

int wt_rank_number(void) {
    return my_rank;
}
int wt_rank_count(void) {
    return n_ranks;
}

const char *wt_rank_library(void) {
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    PMPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    for (char *c = version; *c; c++) {
        if (*c == '\t') {
            *c = ' ';
        }
    }
    return version;
}

char *wt_ranks_share_text(char *text) {
    uint64_t length = text ? strlen(text) : 0;
    PMPI_Bcast(&length, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (my_rank != 0) {
        text = wt_must_alloc(length + 1);
    }
    for (uint64_t done = 0; done < length; done += BCAST_CHUNK) {
        uint64_t left = length - done;
        PMPI_Bcast(text + done, (int)(left < BCAST_CHUNK ? left : BCAST_CHUNK), MPI_CHAR, 0, MPI_COMM_WORLD);
    }
    return text;
}

char *wt_ranks_hand_out(int32_t rank, char *bytes, size_t length, size_t *n) {
    *n = length;
    if (rank == 0 || (my_rank != 0 && my_rank != rank)) {
        return bytes;
    }
    uint64_t left = length;
    if (my_rank == 0) {
        PMPI_Send(&left, 1, MPI_UINT64_T, rank, TAG_TEXT, MPI_COMM_WORLD);
        for (uint64_t done = 0; done < left; done += BCAST_CHUNK) {
            PMPI_Send(bytes + done, (int)(left - done < BCAST_CHUNK ? left - done : BCAST_CHUNK), MPI_CHAR,
                      rank, TAG_TEXT, MPI_COMM_WORLD);
        }
        free(bytes);
        return NULL;
    }
    PMPI_Recv(&left, 1, MPI_UINT64_T, 0, TAG_TEXT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *n = left;
    bytes = left ? wt_must_alloc(left) : NULL;
    for (uint64_t done = 0; done < left; done += BCAST_CHUNK) {
        PMPI_Recv(bytes + done, (int)(left - done < BCAST_CHUNK ? left - done : BCAST_CHUNK), MPI_CHAR, 0,
                  TAG_TEXT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return bytes;
}

void wt_ranks_make_communicators(const struct plan *plan) {
    MPI_Group world;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    n_communicators = plan->n_communicators;
    communicators = wt_must_alloc((size_t)n_communicators * sizeof *communicators);
    for (int i = 0; i < n_communicators; i++) {
        const struct plan_communicator *c = &plan->communicators[i];
        communicators[i] = MPI_COMM_NULL;
        if (c->n_ranks == 0) { /* all ranks */
            communicators[i] = MPI_COMM_WORLD;
        } else if (wt_plan_communicator_has(c, my_rank)) {
            MPI_Group group;
            PMPI_Group_incl(world, c->n_ranks, c->ranks, &group);
            PMPI_Comm_create_group(MPI_COMM_WORLD, group, i & 0x7fff, &communicators[i]);
            PMPI_Group_free(&group);
        }
    }
    PMPI_Group_free(&world);
}

MPI_Comm wt_ranks_communicator(int index) {
    return communicators[index];
}

/* Wait without keeping a core busy: where several virtual nodes share one machine, a rank that polls takes
 * its time from those that do I/O, and from the servers. What is slept is an eighth of what was waited, so
 * that the wait is hardly longer than a busy one's. */
static void wait_quietly(MPI_Request *request, int64_t longest_nap_ns) {
    const int64_t spin_ns = 20000;
    int done = 0;
    for (int64_t start = wt_now_ns();;) {
        PMPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done) {
            return;
        }
        int64_t waited = wt_now_ns() - start, nap = waited / 8;
        if (waited < spin_ns) {
            continue;
        }
        if (nap > longest_nap_ns) {
            nap = longest_nap_ns;
        }
        nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
    }
}

enum { NAP_IN_RUN_NS = 100000, NAP_AFTER_RUN_NS = 2000000 };

/* Wait quietly until all are there; then the call that a tracer knows as synchronisation. It also lets the
 * ranks go on at the same moment, as the application's did: naps end at different times. */
void wt_ranks_barrier(int communicator) {
    if (communicators[communicator] == MPI_COMM_NULL) {
        return;
    }
    MPI_Request request;
    PMPI_Ibarrier(communicators[communicator], &request);
    wait_quietly(&request, NAP_IN_RUN_NS);
    MPI_Barrier(communicators[communicator]);
}

/* A call that is communication to a tracer, and orders nothing. */
void wt_ranks_tick(void) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_NONE, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

void wt_ranks_wait_for_all(void) {
    MPI_Request request;
    PMPI_Ibarrier(MPI_COMM_WORLD, &request);
    wait_quietly(&request, NAP_AFTER_RUN_NS);
}

/* MPI guarantees tags up to 32767; equal tags of two ranks are received in the order that they were sent. */
static int wait_tag(int64_t number) {
    return 16 + (int)(number % 32000);
}

void wt_ranks_signal(int64_t number, const int32_t *others, int32_t n_others) {
    for (int32_t i = 0; i < n_others; i++) {
        if (others[i] != my_rank) { /* no data: it goes out at once, whether or not the other waits yet */
            PMPI_Send(NULL, 0, MPI_CHAR, others[i], wait_tag(number), MPI_COMM_WORLD);
        }
    }
}

void wt_ranks_await(int64_t number, const int32_t *others, int32_t n_others) {
    for (int32_t i = 0; i < n_others; i++) {
        if (others[i] != my_rank) {
            MPI_Request request;
            PMPI_Irecv(NULL, 0, MPI_CHAR, others[i], wait_tag(number), MPI_COMM_WORLD, &request);
            wait_quietly(&request, NAP_IN_RUN_NS);
        }
    }
}

/* Ranks with the same name read the same clock. */
static void name_clock(char name[CLOCK_NAME]) {
    if (!wt_clock_name(name)) {
        snprintf(name, CLOCK_NAME, "rank %d", my_rank);
    }
}

/* Rank 0's clock minus this one's: by the quickest of some round trips (Cristian's method), so the error is
 * at most half of that round trip. Zero where both read one clock. */
static int64_t offset_to_rank_0(void) {
    char mine[CLOCK_NAME];
    name_clock(mine);
    char *all = my_rank == 0 ? wt_must_alloc((size_t)n_ranks * CLOCK_NAME) : NULL;
    PMPI_Gather(mine, CLOCK_NAME, MPI_CHAR, all, CLOCK_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    int *foreign = wt_must_alloc((size_t)n_ranks * sizeof(int));
    for (int r = 0; my_rank == 0 && r < n_ranks; r++) {
        foreign[r] = memcmp(all + (size_t)r * CLOCK_NAME, mine, CLOCK_NAME) != 0;
    }
    PMPI_Bcast(foreign, n_ranks, MPI_INT, 0, MPI_COMM_WORLD);
    int64_t offset = 0, quickest = INT64_MAX;
    for (int r = 1; r < n_ranks; r++) {
        if (!foreign[r] || (my_rank != 0 && my_rank != r)) {
            continue;
        }
        for (int round = 0; round < CLOCK_ROUNDS; round++) {
            int64_t theirs = 0, sent = wt_now_ns();
            if (my_rank == 0) {
                PMPI_Recv(&theirs, 1, MPI_INT64_T, r, TAG_CLOCK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                theirs = wt_now_ns();
                PMPI_Send(&theirs, 1, MPI_INT64_T, r, TAG_CLOCK, MPI_COMM_WORLD);
                continue;
            }
            PMPI_Send(&theirs, 1, MPI_INT64_T, 0, TAG_CLOCK, MPI_COMM_WORLD);
            PMPI_Recv(&theirs, 1, MPI_INT64_T, 0, TAG_CLOCK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            int64_t trip = wt_now_ns() - sent;
            if (trip < quickest) {
                quickest = trip;
                offset = theirs - (sent + trip / 2);
            }
        }
    }
    free(foreign);
    free(all);
    return offset;
}

int64_t wt_ranks_common_start(void) {
    int64_t offset = offset_to_rank_0();
    PMPI_Barrier(MPI_COMM_WORLD);
    int64_t start = wt_now_ns() + offset; /* on rank 0's clock */
    PMPI_Allreduce(MPI_IN_PLACE, &start, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    return start - offset;
}

void wt_ranks_share(void *bytes, size_t length) {
    MPI_Request request;
    PMPI_Ibcast(bytes, (int)length, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    wait_quietly(&request, NAP_AFTER_RUN_NS);
}

bool wt_ranks_agree(bool mine) {
    int any = mine;
    MPI_Request request;
    PMPI_Iallreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    wait_quietly(&request, NAP_IN_RUN_NS);
    return any != 0;
}

void wt_ranks_largest(int64_t *values, int32_t n) {
    PMPI_Reduce(my_rank == 0 ? MPI_IN_PLACE : values, values, n, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
}

static MPI_Datatype type_of(size_t size) {
    static MPI_Datatype type;
    static size_t made_for;
    if (made_for != size) {
        PMPI_Type_contiguous((int)size, MPI_BYTE, &type);
        PMPI_Type_commit(&type);
        made_for = size;
    }
    return type;
}

void *wt_ranks_gather(int communicator, const void *mine, size_t n, size_t size, size_t *n_all) {
    MPI_Comm comm = communicator < 0 ? MPI_COMM_WORLD : communicators[communicator];
    *n_all = 0;
    if (comm == MPI_COMM_NULL) {
        return NULL;
    }
    int ranks, own = (int)n;
    PMPI_Comm_size(comm, &ranks);
    int *counts = wt_must_alloc((size_t)ranks * 2 * sizeof(int)), *places = counts + ranks;
    MPI_Request request;
    PMPI_Iallgather(&own, 1, MPI_INT, counts, 1, MPI_INT, comm, &request);
    wait_quietly(&request, NAP_IN_RUN_NS);
    for (int i = 0; i < ranks; i++) {
        places[i] = (int)*n_all;
        *n_all += (size_t)counts[i];
    }
    char *all = *n_all ? wt_must_alloc(*n_all * size) : NULL;
    if (*n_all) {
        PMPI_Allgatherv(mine, own, type_of(size), all, counts, places, type_of(size), comm);
    }
    free(counts);
    return all;
}

void wt_ranks_send(int32_t rank, const void *elements, size_t n, size_t size) {
    static struct sent {
        MPI_Request request;
        char *bytes;
    } * sent;
    static int n_sent;
    int kept = 0;
    for (int i = 0, done; i < n_sent; i++) { /* what has arrived is not needed any more */
        PMPI_Test(&sent[i].request, &done, MPI_STATUS_IGNORE);
        if (done) {
            free(sent[i].bytes);
        } else {
            sent[kept++] = sent[i];
        }
    }
    n_sent = kept + 1;
    sent = wt_must_grow(sent, (size_t)n_sent * sizeof *sent);
    sent[kept].bytes = wt_must_alloc(n * size);
    if (n) {
        memcpy(sent[kept].bytes, elements, n * size);
    }
    PMPI_Isend(sent[kept].bytes, (int)n, type_of(size), rank, TAG_ELEMENTS, MPI_COMM_WORLD,
               &sent[kept].request);
}

void *wt_ranks_receive(int32_t rank, size_t size, size_t *n) {
    MPI_Status status;
    int count;
    PMPI_Probe(rank, TAG_ELEMENTS, MPI_COMM_WORLD, &status);
    PMPI_Get_count(&status, type_of(size), &count);
    void *elements = count ? wt_must_alloc((size_t)count * size) : NULL;
    PMPI_Recv(elements, count, type_of(size), rank, TAG_ELEMENTS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *n = (size_t)count;
    return elements;
}

void wt_ranks_add_up(int64_t *values, int32_t n) {
    PMPI_Allreduce(MPI_IN_PLACE, values, n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

int64_t wt_ranks_offset_to_first(void) {
    return offset_to_rank_0();
}

void wt_ranks_print_in_order(const char *text, size_t length) {
    if (my_rank != 0) {
        uint64_t n = length;
        PMPI_Send(&n, 1, MPI_UINT64_T, 0, TAG_TEXT, MPI_COMM_WORLD);
        for (uint64_t done = 0; done < n; done += BCAST_CHUNK) {
            PMPI_Send(text + done, (int)(n - done < BCAST_CHUNK ? n - done : BCAST_CHUNK), MPI_CHAR, 0,
                      TAG_TEXT, MPI_COMM_WORLD);
        }
        return;
    }
    fwrite(text, 1, length, stdout);
    for (int r = 1; r < n_ranks; r++) {
        uint64_t n;
        PMPI_Recv(&n, 1, MPI_UINT64_T, r, TAG_TEXT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        char *part = wt_must_alloc(n < BCAST_CHUNK ? n : BCAST_CHUNK);
        for (uint64_t done = 0; done < n; done += BCAST_CHUNK) {
            int chunk = (int)(n - done < BCAST_CHUNK ? n - done : BCAST_CHUNK);
            PMPI_Recv(part, chunk, MPI_CHAR, r, TAG_TEXT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            fwrite(part, 1, (size_t)chunk, stdout);
        }
        free(part);
    }
}

void wt_ranks_end(void) {
    for (int i = 0; i < n_communicators; i++) {
        if (communicators[i] != MPI_COMM_NULL && communicators[i] != MPI_COMM_WORLD) {
            PMPI_Comm_free(&communicators[i]);
        }
    }
    free(communicators);
    MPI_Finalize();
}

_Noreturn void wt_ranks_abort(void) {
    MPI_Abort(MPI_COMM_WORLD, 1);
    _Exit(1);
}
