// Gives gRPC a connection that was accepted elsewhere and is to speak TLS. gRPC's C interface has no function
// for it (grpc_server_add_channel_from_fd takes connections without TLS only), so this calls the handler that
// gRPC makes for its C++ interface. Its class is declared here as gRPC has it in lib/iomgr/tcp_server.h.
struct grpc_byte_buffer;

namespace grpc_core
{
class TcpServerFdHandler
{
  public:
    virtual ~TcpServerFdHandler() = default;
    virtual void Handle(int listener_fd, int fd, grpc_byte_buffer *pending_read) = 0;
};
} // namespace grpc_core

extern "C" void bd_grpc_hand_over(void *handler, int fd);

void bd_grpc_hand_over(void *handler, int fd)
{
    static_cast<grpc_core::TcpServerFdHandler *>(handler)->Handle(-1, fd, nullptr);
}
