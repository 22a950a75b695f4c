/* MPI file views, decoded to the runs of bytes that they show; and types of memory, which are described as
 * the views that they would be. */
#ifndef WT_VIEWS_H
#define WT_VIEWS_H

#include "mpi/mpi_call.h"

#define WT_VIEW_NONE (-1)    /* bytes as they lie in the file */
#define WT_VIEW_UNKNOWN (-2) /* a view too large or too strange to decode: offsets are unknown */

int32_t wt_view_make(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype);
/* The view that has one item of a type as its tile, from byte 0 on: how the memory of a call lies.
 * WT_VIEW_UNKNOWN: its pieces are too many, too large, or lie before the buffer. */
int32_t wt_view_of_memory(MPI_Datatype type);
/* Whether a tile ends behind the begin of the next one. */
bool wt_view_reaches_over(int32_t view);
/* Position in the file of a byte of the view; WT_UNKNOWN for WT_VIEW_UNKNOWN. */
int64_t wt_view_to_file(int32_t view, int64_t displacement, int64_t view_offset);
/* The byte of the view that lies there; WT_UNKNOWN where none does. */
int64_t wt_view_from_file(int32_t view, int64_t displacement, int64_t offset);

#endif
