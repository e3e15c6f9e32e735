// Refusing calls in HTTP/2 (RFC 9113): the preface of the client, then frames. A frame begins with 9 bytes:
// length, type, flags and stream. Its payload is skipped. Headers of a call, once they are whole, are
// answered by the trailers of gRPC in literal fields of HPACK (RFC 7541), which needs no state.
#include "cluster/transport/refusal.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/strbuf.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_MAX (64 << 10)  // bytes of one connection
#define FRAME_MAX (16 << 10) // the length that HTTP/2 allows without an agreement
#define HEAD_LEN 9
#define MESSAGE_MAX 2000

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum frame_type {
    FRAME_HEADERS = 1,
    FRAME_RST_STREAM = 3,
    FRAME_SETTINGS = 4,
    FRAME_CONTINUATION = 9
};

enum frame_flag {
    FLAG_ACK = 1,
    FLAG_END_STREAM = 1,
    FLAG_END_HEADERS = 4
};

struct bd_refusal {
    int fd;
    char *why;
    bd_strbuf trailers; // the block of header fields of each answer
    bool is_http1;
    size_t read;        // bytes in all
    size_t preface_len; // received of the preface
    unsigned char head[HEAD_LEN];
    size_t head_len; // received of the head of a frame
    size_t skip;     // bytes of its payload that are still to come
};

// ---- What is sent ----

static void append_number(bd_strbuf *b, size_t number, unsigned bytes)
{
    while (bytes-- > 0) // ends: counts down
        bd_strbuf_append_char(b, (char)(number >> 8 * bytes & 0xff));
}

static void append_head(bd_strbuf *b, size_t len, enum frame_type type, int flags, uint32_t stream)
{
    append_number(b, len, 3);
    append_number(b, (size_t)type, 1);
    append_number(b, (size_t)flags, 1);
    append_number(b, stream, 4);
}

// A string of HPACK without Huffman's code: its length, seven bits first, and its bytes.
static void append_string(bd_strbuf *b, const char *text, size_t len)
{
    size_t rest = len;
    if (rest < 127) {
        bd_strbuf_append_char(b, (char)rest);
    } else {
        bd_strbuf_append_char(b, 127);
        for (rest -= 127; rest > 127; rest >>= 7)
            bd_strbuf_append_char(b, (char)((rest & 127) | 128));
        bd_strbuf_append_char(b, (char)rest);
    }
    bd_strbuf_append_n(b, text, len);
}

// A literal field with a new name, not to be indexed.
static void append_field(bd_strbuf *b, const char *name, const char *value)
{
    bd_strbuf_append_char(b, 0);
    append_string(b, name, strlen(name));
    append_string(b, value, strlen(value));
}

// Percent encoding, as gRPC has it for messages.
static void append_encoded(bd_strbuf *b, const char *text)
{
    for (const char *at = text; *at && b->len < MESSAGE_MAX; at++)
        if (*at < ' ' || *at > '~' || *at == '%')
            bd_strbuf_appendf(b, "%%%02X", (unsigned char)*at);
        else
            bd_strbuf_append_char(b, *at);
}

static void append_trailers(bd_strbuf *b, const braid_status *why)
{
    bd_strbuf message = {0}, code = {0};
    append_encoded(&message, why->message ? why->message : "");
    bd_strbuf_appendf(&code, "%d", (int)why->code);
    append_field(b, ":status", "200");
    append_field(b, "content-type", "application/grpc");
    append_field(b, "grpc-status", bd_strbuf_str(&code));
    append_field(b, "grpc-message", bd_strbuf_str(&message));
    bd_strbuf_fini(&message);
    bd_strbuf_fini(&code);
}

// False when the process does not read.
static bool send_all(const bd_refusal *r, bd_strbuf *b)
{
    const ssize_t sent = send(r->fd, b->data, b->len, MSG_NOSIGNAL | MSG_DONTWAIT);
    const bool is_sent = sent == (ssize_t)b->len;
    bd_strbuf_fini(b);
    return is_sent;
}

static bool send_settings(const bd_refusal *r, int flags)
{
    bd_strbuf b = {0};
    append_head(&b, 0, FRAME_SETTINGS, flags, 0);
    return send_all(r, &b);
}

static bool send_answer(const bd_refusal *r, uint32_t stream)
{
    bd_strbuf b = {0};
    append_head(&b, r->trailers.len, FRAME_HEADERS, FLAG_END_STREAM | FLAG_END_HEADERS, stream);
    bd_strbuf_append_n(&b, r->trailers.data, r->trailers.len);
    append_head(&b, 4, FRAME_RST_STREAM, 0, stream); // the rest of the call is not wanted
    append_number(&b, 0, 4);                         // NO_ERROR
    return send_all(r, &b);
}

static void send_http1(const bd_refusal *r)
{
    bd_strbuf b = {0};
    bd_strbuf_appendf(&b,
                      "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
                      "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
                      strlen(r->why) + 1, r->why);
    send_all(r, &b);
}

// ---- What is received ----

static bool frame_begun(bd_refusal *r)
{
    const unsigned char *h = r->head;
    const int type = h[3], flags = h[4];
    const uint32_t stream = (uint32_t)(h[5] & 127) << 24 | (uint32_t)h[6] << 16 | (uint32_t)h[7] << 8 | h[8];
    r->skip = (size_t)h[0] << 16 | (size_t)h[1] << 8 | h[2];
    r->head_len = 0;
    if (r->skip > FRAME_MAX) return false;
    if (type == FRAME_SETTINGS && !(flags & FLAG_ACK)) return send_settings(r, FLAG_ACK);
    const bool is_header = type == FRAME_HEADERS || type == FRAME_CONTINUATION;
    return !is_header || !(flags & FLAG_END_HEADERS) || send_answer(r, stream);
}

static bool preface_byte(bd_refusal *r, unsigned char byte)
{
    r->is_http1 = byte != (unsigned char)preface[r->preface_len++];
    return r->is_http1 || preface[r->preface_len] || send_settings(r, 0);
}

static bool receive(bd_refusal *r, const unsigned char *data, size_t len)
{
    for (size_t i = 0; i < len && !r->is_http1;) {
        if (preface[r->preface_len]) {
            if (!preface_byte(r, data[i++])) return false;
        } else if (r->skip > 0) {
            const size_t skipped = (size_t)bd_min((int64_t)r->skip, (int64_t)(len - i));
            r->skip -= skipped;
            i += skipped;
        } else {
            r->head[r->head_len++] = data[i++];
            if (r->head_len == HEAD_LEN && !frame_begun(r)) return false;
        }
    }
    return true;
}

bool bd_refusal_serve(bd_refusal *r)
{
    unsigned char data[4096];
    while (r->read < READ_MAX) {
        const ssize_t len = recv(r->fd, data, sizeof data, MSG_DONTWAIT);
        if (len < 0 && errno == EINTR) continue;
        if (len < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return false;
        if (len < 0 && r->is_http1) send_http1(r);
        if (len < 0) return !r->is_http1;
        if (len == 0 || !receive(r, data, (size_t)len)) return false;
        r->read += (size_t)len;
    }
    return false;
}

bd_refusal *bd_refusal_new(int fd, const braid_status *why)
{
    bd_refusal *r = bd_calloc(1, sizeof *r);
    r->fd = fd;
    r->why = bd_strdup(why->message ? why->message : "");
    append_trailers(&r->trailers, why);
    return r;
}

void bd_refusal_free(bd_refusal *r)
{
    if (!r) return;
    close(r->fd);
    bd_strbuf_fini(&r->trailers);
    bd_free(r->why);
    bd_free(r);
}
