// A user's program in C++.
#include <braid/braid.h>
#include <iostream>
#include <memory>

int main()
{
    std::unique_ptr<braid_status, decltype(&braid_status_free)> st(braid_status_new(), braid_status_free);
    std::unique_ptr<braid_graph, decltype(&braid_graph_free)> g(braid_graph_new(), braid_graph_free);
    const braid_out sum = braid_add(g.get(), braid_const_float(g.get(), "a", 2), braid_const_float(g.get(), "b", 3));
    braid_session *s = braid_session_open(g.get(), nullptr, st.get());
    braid_tensor *value = nullptr;
    const braid_fetch fetch = {sum, &value};
    braid_run_args args{};
    args.fetches = &fetch;
    args.fetch_count = 1;
    if (!s || braid_session_run(s, &args, st.get()) != BRAID_OK) {
        std::cerr << braid_status_message(st.get()) << "\n";
        return 1;
    }
    std::cout << "Braid " << braid_version() << ": " << *static_cast<const float *>(braid_tensor_data(value)) << "\n";
    braid_tensor_free(value);
    braid_session_close(s, nullptr);
}
