// A push and a pull of ps-lite as a peer: `ps_lite_bench BYTES`. The program is the worker; it starts itself
// as the scheduler and as one server of this host. peers.py builds it.
#include "../bench.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <ps/ps.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

using Meta = ps::KVMeta;
using Pairs = ps::KVPairs<float>;
using Server = ps::KVServer<float>;

// A port that is free now. Over Unix sockets (DMLC_LOCAL) it is the name of a file in /tmp.
int free_port()
{
    sockaddr_in address = {};
    socklen_t size = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto *const any = reinterpret_cast<sockaddr *>(&address);
    bench_check(fd >= 0 && !bind(fd, any, size) && !getsockname(fd, any, &size), "port", "none free");
    close(fd);
    return ntohs(address.sin_port);
}

// Of the Unix sockets of the processes, which ps-lite leaves behind.
std::vector<std::string> sockets;

void take_role(const char *role)
{
    setenv("DMLC_ROLE", role, 1);
    setenv("PORT", sockets.back().c_str() + strlen("/tmp/"), 1);
}

std::string new_port()
{
    const std::string port = std::to_string(free_port());
    sockets.push_back("/tmp/" + port);
    return port;
}

pid_t start(const char *role, char **argv)
{
    const pid_t parent = getpid(), child = fork();
    bench_check(child >= 0, role, "cannot be started");
    if (child > 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(STDERR_FILENO, STDOUT_FILENO); // answers are the worker's
    take_role(role);
    execv("/proc/self/exe", argv);
    _exit(1);
}

// The server adds what is pushed, and answers a pull with its own memory, without a copy.
class Store
{
  public:
    void operator()(const Meta &meta, const Pairs &pairs, Server *server)
    {
        Pairs answer;
        if (meta.push) {
            add(pairs.vals);
        } else {
            answer.keys = pairs.keys;
            answer.vals = sum_;
            answer.lens = ps::SArray<int>(1, static_cast<int>(sum_.size()));
        }
        server->Response(meta, answer);
    }

  private:
    void add(const ps::SArray<float> &values)
    {
        if (sum_.empty()) sum_.resize(values.size(), 0);
        bench_check(sum_.size() == values.size(), "push", "of another size");
        float *const sum = sum_.data();
        const float *const v = values.data();
        for (size_t i = 0; i < values.size(); i++)
            sum[i] += v[i];
    }

    ps::SArray<float> sum_;
};

struct Step {
    ps::KVWorker<float> worker{0, 0};
    ps::SArray<ps::Key> keys = ps::SArray<ps::Key>(1, 0); // one key: 0
    ps::SArray<float> pushed, pulled;
    ps::SArray<int> lens;
    float pushes = 0;
};

void push_and_pull(void *arg)
{
    auto *const s = static_cast<Step *>(arg);
    s->worker.Wait(s->worker.ZPush(s->keys, s->pushed, s->lens));
    s->worker.Wait(s->worker.ZPull(s->keys, &s->pulled, &s->lens));
    s->pushes++;
    bench_check(s->pulled[0] == s->pushes && s->pulled.back() == s->pushes, "pull", "is not the sum");
}

void work(size_t count)
{
    Step s;
    s.pushed.resize(count, 1);
    s.pulled.resize(count, 0);
    s.lens = ps::SArray<int>(1, static_cast<int>(count));
    bench_serve(push_and_pull, &s, 1);
}

} // namespace

int main(int argc, char **argv)
{
    const long bytes = argc == 2 ? atol(argv[1]) : 0;
    bench_check(bytes >= 4 && bytes / 4 <= INT32_MAX, "usage", "ps_lite_bench BYTES");
    const bool is_first = !getenv("DMLC_ROLE");
    pid_t scheduler = 0, server = 0;
    if (is_first) {
        setenv("DMLC_NUM_WORKER", "1", 1);
        setenv("DMLC_NUM_SERVER", "1", 1);
        setenv("DMLC_PS_ROOT_URI", "127.0.0.1", 1);
        setenv("DMLC_PS_ROOT_PORT", new_port().c_str(), 1);
        setenv("DMLC_NODE_HOST", "127.0.0.1", 1);
        setenv("DMLC_LOCAL", "1", 0); // Unix sockets, faster than TCP
        scheduler = start("scheduler", argv);
        new_port();
        server = start("server", argv);
        new_port();
        take_role("worker");
    }
    ps::Start(0);
    if (ps::IsServer()) {
        auto *const own = new Server(0);
        own->set_request_handle(Store());
        ps::RegisterExitCallback([own] { delete own; });
    }
    if (ps::IsWorker()) work(static_cast<size_t>(bytes) / 4);
    if (!is_first) ps::Finalize(0, true); // does not return: the worker ends the process
    for (const pid_t p : {server, scheduler})
        if (p > 0) kill(p, SIGKILL);
    for (const std::string &s : sockets)
        unlink(s.c_str());
    _exit(0); // without Finalize, whose last barrier sometimes does not end
}
