/* What the agent in a guest and its callers say to each other over a connection, one a command.
 *
 * The caller sends a request: struct request, then NUL-terminated strings: its directory, the command's
 * words, its environment. Then both send frames: struct frame and its bytes.
 */
#ifndef WAVETANK_GUEST_FRAMES_H
#define WAVETANK_GUEST_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAME_BYTES = 64 * 1024, REQUEST_BYTES = 8 * 1024 * 1024 };

/* Of a frame: what its bytes are. */
enum frame_kind {
    FRAME_INPUT = 'i',  /* standard input of the command; none: its end */
    FRAME_SIGNAL = 's', /* a number (int32_t) that the command is signalled with */
    FRAME_OUTPUT = 'o',
    FRAME_ERROR = 'e',
    FRAME_STATUS = 'x', /* exit status of the command (int32_t); the last frame */
};

struct request {
    uint32_t n_words; /* of the command */
    uint32_t n_environment;
    uint32_t length; /* of the strings, bytes */
};

struct frame {
    uint32_t kind;
    uint32_t length;
};

/* Both wait until all is sent or read; false when the other side is gone. */
bool wt_send_all(int socket, const void *bytes, size_t length);
bool wt_read_all(int socket, void *bytes, size_t length);
bool wt_send_frame(int socket, enum frame_kind kind, const void *bytes, size_t length);

/* IPv4 address and port of "10.78.0.2:7700"; ends the program when it is none. */
struct sockaddr_in wt_address_of(const char *text);

#endif
