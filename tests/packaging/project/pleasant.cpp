// A user's program over the C++ interface.
#include <braid/braid.hpp>
#include <iostream>

int main()
{
    braid::graph g;
    const auto x = g.placeholder<float>("x", {});
    braid::session s(g);
    std::cout << "Braid: " << s.run(x + 3, {{x, 2.0F}}).scalar<float>() << "\n";
}
