/* Which file a name leads to, its number in the trace, and whether it is in the trace at all. */
#ifndef WT_FILES_H
#define WT_FILES_H

#include "state.h"

#include <sys/stat.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden) /* what is declared here is in this library: it is reached directly */

/* ---- paths.c: names, and which file they lead to ---- */
struct wt_facts { /* of a file; device, inode and birth are its identity */
    unsigned mode;
    int64_t size;
    uint64_t device, inode; /* inode 0: not known */
    uint64_t born_ns;       /* since 1970; 0: the file system does not say */
    dev_t real_device;
    bool made; /* just now, by an open that was seen */
};
/* more: further bits of statx's mask; path "" with AT_EMPTY_PATH: dirfd itself. */
bool wt_look(int dirfd, const char *path, int flags, unsigned more, struct wt_facts *facts);
size_t wt_absolute(int dirfd, const char *path, char *out); /* lexically; 0: cannot be named */
size_t wt_path_of_fd(int fd, char *out);
size_t wt_name(int dirfd, const char *path,
               char *out); /* absolute, links to folders followed; under the lock */
size_t wt_name_behind(const char *link, const char *target, char *out); /* where a symbolic link leads */
bool wt_links_to(const char *path, char *out); /* a symbolic link: the file at its end */
void wt_folder_is_plain(const char *path);     /* the folder of this path has no link in it */

/* ---- file_ids.c: names to file numbers ---- */
/* Of a name, and of the file that it led to where facts are given (NULL: whichever was met last). UNKNOWN:
 * left out. */
void wt_file_made(struct wt_facts *facts);
int32_t wt_file_of_path(const char *path, const struct wt_facts *facts, int64_t size_before, bool size_known);
/* The same of a symbolic link's name; facts are those of the file behind it. */
int32_t wt_file_of_link(const char *link, const char *target, const struct wt_facts *facts,
                        int64_t size_before, bool size_known);
bool wt_file_is_known(const char *path); /* it has a number already */
/* The number that a name has, if it leads to the same file still; UNKNOWN: it has none, or to another one. */
int32_t wt_file_if_same(const char *path, const struct wt_facts *facts);
void wt_files_start(void);
void wt_files_reset(void);

/* ---- mounts.c ---- */
int32_t wt_mount_of(const char *path); /* describes it when it is new; UNKNOWN: none found */
void wt_mounts_reset(void);
void wt_describe_striping(int32_t file, int32_t mount, const char *path); /* of Lustre */

/* ---- filter.c: what is left out ---- */
bool wt_path_kept(const char *path);
bool wt_path_included(const char *path); /* --include names it */
void wt_filter_start(const char *include, const char *exclude);
void wt_leave_out(const char *path); /* this file, whatever name it is opened by */

#pragma GCC visibility pop

#endif
