# ns-3 simulating messages in a hypercube of 64 nodes; each node sends to a random other node.
# Packages: libns3.37 libns3-dev g++-12
cat > hypercube.cc <<'CC'
#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

using namespace ns3;

int main()
{
    const uint32_t dimensions = 6, port = 9;
    NodeContainer nodes;
    nodes.Create(1 << dimensions);
    InternetStackHelper().Install(nodes);

    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("2Mbps"));
    link.SetChannelAttribute("Delay", StringValue("1ms"));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    std::vector<Ipv4Address> address(nodes.GetN());
    for (uint32_t node = 0; node < nodes.GetN(); node++) {
        for (uint32_t bit = 0; bit < dimensions; bit++) {
            const uint32_t other = node ^ 1 << bit;
            if (node < other) {
                auto ends = addresses.Assign(link.Install(nodes.Get(node), nodes.Get(other)));
                address[node] = ends.GetAddress(0);
                address[other] = ends.GetAddress(1);
                addresses.NewNetwork();
            }
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const std::string udp = "ns3::UdpSocketFactory";
    PacketSinkHelper(udp, InetSocketAddress(Ipv4Address::GetAny(), port)).Install(nodes);
    auto random = CreateObject<UniformRandomVariable>();
    for (uint32_t node = 0; node < nodes.GetN(); node++) {
        const uint32_t other = node ^ random->GetInteger(1, nodes.GetN() - 1);
        OnOffHelper sender(udp, InetSocketAddress(address[other], port));
        sender.SetAttribute("DataRate", StringValue("400kbps"));
        sender.SetAttribute("PacketSize", UintegerValue(random->GetInteger(64, 1024)));
        sender.SetAttribute("OnTime", StringValue("ns3::ExponentialRandomVariable[Mean=0.5]"));
        sender.SetAttribute("OffTime", StringValue("ns3::ExponentialRandomVariable[Mean=0.5]"));
        sender.Install(nodes.Get(node));
    }

    Simulator::Stop(Seconds(4));
    Simulator::Run();
    std::cout << Simulator::GetEventCount() << " events\n";
    Simulator::Destroy();
}
CC
g++-12 -O1 hypercube.cc -o hypercube \
  -lns3-applications -lns3-internet -lns3-point-to-point -lns3-network -lns3-core
$RECORD ./hypercube > counted
