// Messages at the socket of the shared-memory transport: see shm_peer.h.
#include "cluster/transport/testing/shm_peer.h"
#include "base/alloc.h"
#include "base/testing/test.h"
#include "braid/cluster.pb-c.h"
#include "proto/pack.h"
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FDS_MAX 2
#define HELLO_BYTES (BD_SHM_TOKEN_BYTES + 2 * sizeof(uint64_t))

typedef struct asked {
    bd_event done;
    bd_test_offer offer;
} asked;

static void answered(void *arg, bd_message *response, const braid_status *from)
{
    asked *a = arg;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    a->offer.code = from->code;
    const Braid__OpenSharedMemoryResponse *r =
        from->code
            ? NULL
            : bd_proto_unpack_message(&braid__open_shared_memory_response__descriptor, response, arena, st);
    if (r) {
        strncpy(a->offer.socket, r->socket, BD_SHM_NAME_BYTES);
        memcpy(a->offer.secrets.token, r->token.data, BD_SHM_TOKEN_BYTES);
        memcpy(a->offer.secrets.answer, r->answer.data, BD_SHM_TOKEN_BYTES);
        a->offer.secrets.process = (pid_t)r->pid;
    }
    bd_event_set(&a->done);
}

bd_test_offer bd_test_ask_for_link(bd_transport *t, bd_channel *channel, uint64_t host, pid_t pid)
{
    Braid__OpenSharedMemoryRequest request = BRAID__OPEN_SHARED_MEMORY_REQUEST__INIT;
    const bd_call_options options = {.method = BD_SHM_OPEN_METHOD, .deadline_ns = BD_FOREVER};
    asked a = {0};
    bd_message message;
    bd_message_init(&message);
    request.host = host;
    request.pid = (uint32_t)pid;
    bd_proto_pack_message(&request.base, &message);
    bd_event_init(&a.done);
    bd_call *call = t->call(channel, &options, &message, answered, &a);
    bd_event_wait(&a.done);
    t->call_release(call);
    bd_event_fini(&a.done);
    return a.offer;
}

static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, name, BD_SHM_NAME_BYTES);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + BD_SHM_NAME_BYTES);
}

int bd_test_shm_connect(const char *name)
{
    struct sockaddr_un address;
    const socklen_t len = address_of(name, &address);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, len), 0);
    return fd;
}

int bd_test_shm_listen(const char *name)
{
    struct sockaddr_un address;
    const socklen_t len = address_of(name, &address);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

void bd_test_shm_say(int socket, const uint8_t secret[BD_SHM_TOKEN_BYTES], const size_t *bytes, int count)
{
    BD_STATUS(st);
    int fds[FDS_MAX];
    for (int i = 0; i < count; i++) {
        void *memory = bd_shm_create(bytes[i], &fds[i], st);
        assert_non_null(memory);
        bd_shm_unmap(memory, bytes[i]);
    }
    char space[CMSG_SPACE(FDS_MAX * sizeof(int))] = {0};
    uint8_t hello[HELLO_BYTES] = {0};
    memcpy(hello, secret, BD_SHM_TOKEN_BYTES);
    struct iovec part = {hello, sizeof hello};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = space,
                             .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(control), fds, (size_t)count * sizeof(int));
    sendmsg(socket, &message, MSG_NOSIGNAL); // fails when the other end has hung up
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

ssize_t bd_test_shm_hear(int socket, uint8_t secret[BD_SHM_TOKEN_BYTES])
{
    uint8_t hello[HELLO_BYTES] = {0};
    const ssize_t got = recv(socket, hello, sizeof hello, 0);
    memcpy(secret, hello, BD_SHM_TOKEN_BYTES);
    return got > 0 ? got : 0;
}

bool bd_test_shm_show_token(const char *name, const uint8_t token[BD_SHM_TOKEN_BYTES])
{
    uint8_t answer[BD_SHM_TOKEN_BYTES];
    const int fd = bd_test_shm_connect(name);
    bd_test_shm_say(fd, token, &(size_t){sizeof(bd_shm_bell)}, 1);
    const ssize_t got = bd_test_shm_hear(fd, answer);
    close(fd);
    return got > 0;
}
