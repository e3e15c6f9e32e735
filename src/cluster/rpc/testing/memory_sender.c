// A child that describes a tensor of its own, and clears the id when it is told to.
#include "cluster/rpc/testing/memory_sender.h"

#include "base/alloc.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void move(int fd, void *data, size_t len, ssize_t (*fn)(int fd, void *data, size_t len))
{
    if (fn(fd, data, len) != (ssize_t)len) _exit(1);
}

static ssize_t write_some(int fd, void *data, size_t len)
{
    return write(fd, data, len);
}

static void serve(int in, int out, const void *data, size_t bytes, uint64_t id)
{
    static _Atomic uint64_t held;
    bd_cross_memory *m = bd_cross_memory_new();
    uint8_t *own = bd_malloc(bytes), offer[BD_CROSS_MEMORY_OFFER_BYTES];
    char word;
    memcpy(own, data, bytes);
    held = id;
    move(in, offer, sizeof offer, read);
    bd_cross_memory_accept(m, offer, sizeof offer);
    if (!bd_cross_memory_is_accepted(m)) _exit(1);
    Braid__TensorMemory memory = BRAID__TENSOR_MEMORY__INIT;
    bd_cross_memory_describe(m, &held, own, &memory);
    move(out, &memory, sizeof memory, write_some);
    while (read(in, &word, 1) == 1) { // ends with the test
        held = 0;
        move(out, &word, 1, write_some);
    }
    _exit(0);
}

void memory_sender_start(memory_sender *s, const bd_cross_memory *m, const void *data, size_t bytes,
                         uint64_t id)
{
    int in[2], out[2];
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    s->child = fork();
    assert_true(s->child >= 0);
    if (s->child == 0) {
        close(in[1]);
        serve(in[0], out[1], data, bytes, id);
    }
    close(in[0]);
    close(out[1]);
    s->to_child = in[1];
    s->from_child = out[0];
    uint8_t offer[BD_CROSS_MEMORY_OFFER_BYTES];
    assert_int_equal(bd_cross_memory_offer(m, offer), sizeof offer);
    assert_int_equal(write(s->to_child, offer, sizeof offer), sizeof offer);
    assert_int_equal(read(s->from_child, &s->memory, sizeof s->memory), sizeof s->memory);
}

void memory_sender_let_go(memory_sender *s)
{
    char word = 'x';
    assert_int_equal(write(s->to_child, &word, 1), 1);
    assert_int_equal(read(s->from_child, &word, 1), 1);
}

void memory_sender_end(memory_sender *s)
{
    int status;
    close(s->to_child);
    assert_int_equal(waitpid(s->child, &status, 0), s->child);
    assert_int_equal(status, 0);
    close(s->from_child);
}
