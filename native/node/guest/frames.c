/* Sends and reads whole pieces of what an agent and its callers say. A connection is a stream that hands over
 * as many bytes as it likes: one call may end in the middle of a frame. That the other side is gone is a
 * result and no signal: the agent then has a command to end. */
#include "frames.h"

#include "../node.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool wt_send_all(int socket, const void *bytes, size_t length) {
    const char *at = bytes;
    while (length > 0) {
        ssize_t sent = send(socket, at, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        at += sent;
        length -= (size_t)sent;
    }
    return true;
}

bool wt_read_all(int socket, void *bytes, size_t length) {
    char *at = bytes;
    while (length > 0) {
        ssize_t got = read(socket, at, length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        length -= (size_t)got;
    }
    return true;
}

bool wt_send_frame(int socket, enum frame_kind kind, const void *bytes, size_t length) {
    struct frame frame = {.kind = (uint32_t)kind, .length = (uint32_t)length};
    return wt_send_all(socket, &frame, sizeof frame) && wt_send_all(socket, bytes, length);
}

struct sockaddr_in wt_address_of(const char *text) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[64];
    const char *colon = strrchr(text, ':');
    size_t length = colon == NULL ? 0 : (size_t)(colon - text);
    if (length > 0 && length < sizeof host) {
        memcpy(host, text, length);
        host[length] = '\0';
        address.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    }
    if (address.sin_port == 0 || inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        errno = EINVAL;
        wt_fail("no address and port:", text);
    }
    return address;
}
