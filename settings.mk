# Made by `make settings` from the options of the commands: do not edit.

SETTINGS_bench := topology profile rate seed workload edge plugins tls mesh mtls istiod canary admission replicas implementation apart store updates cache runtime load_nodes trace tracing metrics scale payload http network rtt bandwidth visit connections reuse persisted client_cache delay hold abort vus think strict verbose
SETTINGS_compare := topologies blocks precision profile rate seed workload edge plugins tls mesh mtls istiod canary admission replicas implementation apart store updates cache runtime load_nodes trace tracing metrics scale payload http network rtt bandwidth visit connections reuse persisted client_cache delay hold abort edges vus think resume retry strict verbose
SETTINGS_ladder := topology steps blocks profile rate seed workload trace payload http resume retry strict
SETTINGS_rtt := topologies rtts blocks profile rate seed workload edge implementation trace payload http bandwidth resume retry strict
SETTINGS_rates := topologies rates blocks profile seed workload edge mesh mtls replicas implementation cache trace payload http reuse persisted client_cache resume retry strict
SETTINGS_isolate := topology journey blocks profile rate seed workload edge tls replicas implementation trace payload http connections resume retry strict
SETTINGS_studies := study blocks profile seed resume retry strict
SETTINGS_sweep := topologies objective profile start max seed workload tls admission implementation trace payload http connections reuse persisted client_cache strict
SETTINGS_stress := topologies users think profile seed workload tls admission implementation trace payload http reuse persisted client_cache connections strict
SETTINGS_overload := topologies factors capacity objective profile seed workload edge admission trace strict
SETTINGS_connections := topologies connections blocks seed edge tls http strict
SETTINGS_watch := topologies ways watchers channel interval duration rate blocks seed edge tls mesh mtls replicas trace http strict
SETTINGS_chaos := topologies faults blocks rate seed workload edge tls mesh mtls admission replicas implementation cache runtime trace resume strict
SETTINGS_soak := topologies minutes rate seed workload edge tls mesh mtls replicas implementation updates cache trace strict
SETTINGS_compare-runs := a b threshold metrics allow-wrong out strict
SETTINGS_decide := run workload rate watchers lateness network rtt bandwidth strict
SETTINGS_parity := topologies samples seed workload edge plugins tls mesh mtls istiod canary admission replicas implementation apart updates cache payload http reuse persisted client_cache
SETTINGS_conformance := component command implementation protocols
SETTINGS_report := run
SETTINGS_trace := run journey topology
SETTINGS_audit := run
SETTINGS_prove-meetings := experiments seed
SETTINGS_prove-observer := run draws seed
SETTINGS_prove-siblings := traces seed
SETTINGS_prove-delays := hops sizes blocks seed resume
SETTINGS_prove-what-if := hops sizes blocks seed resume
SETTINGS_prove-queues := blocks seed resume
SETTINGS_prove-account := topologies pairs seed
SETTINGS_prove-conformance := component
SETTINGS_prove-resume := kills blocks seed
SETTINGS_prove-statistics := experiments seed
SETTINGS_prove-cache := races kills seed
SETTINGS_prove-fairness := topology attacks seconds rounds edge admission
SETTINGS_fuzz := minutes surfaces seed again
SETTINGS_prove-sagas := kills replicas customers seed
SETTINGS_up := topology edge plugins tls mesh mtls istiod canary admission replicas implementation apart store updates cache tracing metrics scale http delay hold abort seed monitor
SETTINGS_manifests := topology edge plugins mesh mtls istiod canary admission replicas updates metrics scale delay hold abort namespace storage host collector sampling seed out
SETTINGS_compose := topology updates metrics scale seed out

SETTINGS := topology profile rate seed workload edge plugins tls mesh mtls istiod canary admission replicas implementation apart store updates cache runtime load_nodes trace tracing metrics scale payload http network rtt bandwidth visit connections reuse persisted client_cache delay hold abort vus think strict verbose topologies blocks precision edges resume retry steps rtts rates journey study objective start max users factors capacity ways watchers channel interval duration faults minutes a b threshold allow-wrong out run lateness samples component command protocols experiments draws traces hops sizes pairs kills races attacks seconds rounds surfaces again customers monitor namespace storage host collector sampling

#? bench topology hybrid Topology: a name in mesh/topologies/, or the path of a YAML file.
#? bench profile quick Profile that sets duration and rate: smoke, compare, quick, full, chaos, rtt.
#? bench rate - Journeys per second of an open loop (default: the profile's rate).
#? bench seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? bench workload default Workload: a name in load/workloads/, or the path of a YAML file.
#? bench edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? bench plugins none What the edge does besides routing: none or typical or all.
#? bench tls off TLS 1.3 between client and edge: off or on.
#? bench mesh none Sidecar mesh: none or envoy or istio.
#? bench mtls off Mutual TLS between sidecars: off or on.
#? bench istiod restart What becomes of Istio's control plane when it dies; the run goes on in any case: restart or leave.
#? bench canary 0 Percent of calls to product that go to a second instance, the canary, 0 to 100.
#? bench admission off Whether edge, gateways and services refuse requests that they cannot answer in time: off or on.
#? bench replicas - Processes to run per component, such as graphql-gateway:2,product:2.
#? bench implementation - Components to run as another program than the one in Python, such as product:go.
#? bench apart - Kind of journey that gets gateways and services of its own behind the edge, such as bulk_lines.
#? bench store postgres Where the services keep their data while they run: postgres or memory.
#? bench updates off Whether customers are told of changes of their orders, by a notification service: off or on.
#? bench cache none What products and users are read from before the database: none or valkey.
#? bench runtime native Where everything runs: this machine, or the current kubectl context: native or kubernetes.
#? bench load_nodes 1 Load generators in the cluster that share the tape, 1 to 32.
#? bench trace 0.2 Share of journeys to trace, 0 to 1.
#? bench tracing lean What records the components' spans: the instrument, or OpenTelemetry's SDK: lean or sdk.
#? bench metrics off Whether the components expose metrics on a port: off or on.
#? bench scale 1 Scale of the generated data, in units of 10,000 users, products and orders, 1 to 100.
#? bench payload 1KB Size of what the journey document reads: 100B or 1KB or 10KB or 100KB or 1MB.
#? bench http 2 HTTP version between client and edge: 1 or 2 or 3.
#? bench network loopback Network between each customer and the edge: loopback or lan or wifi or 5g or 4g or 3g.
#? bench rtt - Round-trip time between customer and edge, such as 40ms, 0 to 2s; in place of the network's.
#? bench bandwidth - Each customer's bandwidth, down/up, such as 10mbit/2mbit; in place of the network's.
#? bench visit warm With a network, whether customers' connections are open from before: warm or first.
#? bench connections 4 Client connections to the edge, or without one to each gateway, 1 to 1000.
#? bench reuse on Whether clients keep connections, or off, open one for each request: on or off.
#? bench persisted on Whether clients send GraphQL documents by their hashes, or off, as texts in each request: on or off.
#? bench client_cache off Whether clients keep answers, and ask whether they have changed: off or on.
#? bench delay - Delay to inject per component, such as payment:2ms,user:500us.
#? bench hold - Component to keep busy at every Nth request, such as order:20ms/10.
#? bench abort - Share of calls to fail per component, such as payment:1%.
#? bench vus - Run a closed loop with this many virtual users instead of an open loop at a rate.
#? bench think - Think time between journeys, such as 100ms or 2s; needs vus.
#? bench strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? bench verbose off Whether to print every table of the report and each phase: on, off.
#? compare topologies rest,graphql,grpc,hybrid Topologies, comma-separated names or paths.
#? compare blocks 12 Number of blocks, 1 to 100; each runs every arm once.
#? compare precision - Run as many blocks as it takes until the 95 % interval of the ratio of any two topologies' p50, over all journeys, reaches no farther than this from the ratio, such as 5%; the first `blocks` decide how many. Exit code 4 if that is more than can be run.
#? compare profile compare Profile that sets a trial's duration and rate: smoke, compare, quick, full, chaos, rtt.
#? compare rate - Journeys per second of an open loop (default: the profile's rate).
#? compare seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? compare workload default Workload: a name in load/workloads/, or the path of a YAML file.
#? compare edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? compare plugins none What the edge does besides routing: none or typical or all.
#? compare tls off TLS 1.3 between client and edge: off or on.
#? compare mesh none Sidecar mesh: none or envoy or istio.
#? compare mtls off Mutual TLS between sidecars: off or on.
#? compare istiod restart What becomes of Istio's control plane when it dies; the run goes on in any case: restart or leave.
#? compare canary 0 Percent of calls to product that go to a second instance, the canary, 0 to 100.
#? compare admission off Whether edge, gateways and services refuse requests that they cannot answer in time: off or on.
#? compare replicas - Processes to run per component, such as graphql-gateway:2,product:2.
#? compare implementation - Components to run as another program than the one in Python, such as product:go.
#? compare apart - Kind of journey that gets gateways and services of its own behind the edge, such as bulk_lines.
#? compare store postgres Where the services keep their data while they run: postgres or memory.
#? compare updates off Whether customers are told of changes of their orders, by a notification service: off or on.
#? compare cache none What products and users are read from before the database: none or valkey.
#? compare runtime native Where everything runs: this machine, or the current kubectl context: native or kubernetes.
#? compare load_nodes 1 Load generators in the cluster that share the tape, 1 to 32.
#? compare trace 0.2 Share of journeys to trace, 0 to 1.
#? compare tracing lean What records the components' spans: the instrument, or OpenTelemetry's SDK: lean or sdk.
#? compare metrics off Whether the components expose metrics on a port: off or on.
#? compare scale 1 Scale of the generated data, in units of 10,000 users, products and orders, 1 to 100.
#? compare payload 1KB Size of what the journey document reads: 100B or 1KB or 10KB or 100KB or 1MB.
#? compare http 2 HTTP version between client and edge: 1 or 2 or 3.
#? compare network loopback Network between each customer and the edge: loopback or lan or wifi or 5g or 4g or 3g.
#? compare rtt - Round-trip time between customer and edge, such as 40ms, 0 to 2s; in place of the network's.
#? compare bandwidth - Each customer's bandwidth, down/up, such as 10mbit/2mbit; in place of the network's.
#? compare visit warm With a network, whether customers' connections are open from before: warm or first.
#? compare connections 4 Client connections to the edge, or without one to each gateway, 1 to 1000.
#? compare reuse on Whether clients keep connections, or off, open one for each request: on or off.
#? compare persisted on Whether clients send GraphQL documents by their hashes, or off, as texts in each request: on or off.
#? compare client_cache off Whether clients keep answers, and ask whether they have changed: off or on.
#? compare delay - Delay to inject per component, such as payment:2ms,user:500us.
#? compare hold - Component to keep busy at every Nth request, such as order:20ms/10.
#? compare abort - Share of calls to fail per component, such as payment:1%.
#? compare edges - Edges to compare, comma-separated: envoy, kong, none; each topology runs with each of them.
#? compare vus - Run a closed loop with this many virtual users instead of an open loop at a rate.
#? compare think - Think time between journeys, such as 100ms or 2s; needs vus.
#? compare resume - Interrupted experiment to resume: latest, or its name.
#? compare retry 0 Times to repeat a trial in which a gate fails, 0 to 5.
#? compare strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? compare verbose off Whether to print every table of the report and each phase: on, off.
#? ladder topology hybrid Topology: a name in mesh/topologies/, or the path of a YAML file.
#? ladder steps - Arms to run, comma-separated: no-edge, edge, sidecars, mtls, istio, untraced, sdk, memory, metrics, updates, cluster, cluster-istio; by default, all that need no cluster.
#? ladder blocks 8 Number of blocks, 1 to 100; each runs every arm once.
#? ladder profile compare Profile that sets a trial's duration and rate: smoke, compare, quick, full, chaos, rtt.
#? ladder rate - Journeys per second of an open loop (default: the profile's rate).
#? ladder seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? ladder workload default Workload: a name in load/workloads/, or the path of a YAML file.
#? ladder trace 0.2 Share of journeys to trace, 0 to 1.
#? ladder payload 1KB Size of what the journey document reads: 100B or 1KB or 10KB or 100KB or 1MB.
#? ladder http 2 HTTP version between client and edge: 1 or 2 or 3.
#? ladder resume - Interrupted experiment to resume: latest, or its name.
#? ladder retry 0 Times to repeat a trial in which a gate fails, 0 to 5.
#? ladder strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? rtt topologies rest,graphql,grpc,hybrid Topologies, comma-separated names or paths.
#? rtt rtts 0,20,50,100 Round-trip times between customer and edge, comma-separated: 0,20,50,100 (ms), or 0ms,1s.
#? rtt blocks 5 Number of blocks, 1 to 100; each runs every arm once.
#? rtt profile rtt Profile that sets a trial's duration and rate: smoke, compare, quick, full, chaos, rtt.
#? rtt rate - Journeys per second of an open loop (default: the profile's rate).
#? rtt seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? rtt workload default Workload: a name in load/workloads/, or the path of a YAML file.
#? rtt edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? rtt implementation - Components to run as another program than the one in Python, such as product:go.
#? rtt trace 0.2 Share of journeys to trace, 0 to 1.
#? rtt payload 1KB Size of what the journey document reads: 100B or 1KB or 10KB or 100KB or 1MB.
#? rtt http 2 HTTP version between client and edge: 1 or 2 or 3.
#? rtt bandwidth - Each customer's bandwidth, down/up, such as 10mbit/2mbit; in place of the network's.
#? rtt resume - Interrupted experiment to resume: latest, or its name.
#? rtt retry 0 Times to repeat a trial in which a gate fails, 0 to 5.
#? rtt strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? rates topologies rest,graphql,grpc,hybrid Topologies, comma-separated names or paths.
#? rates rates 10,20,30,40,60 Rates, comma-separated: journeys a second for all topologies alike (10,20,40), or percent of what each of them holds by the newest `make sweep` (20%,40%,60%,80%).
#? rates blocks 4 Number of blocks, 1 to 100; each runs every arm once.
#? rates profile rtt Profile that sets a trial's duration and rate: smoke, compare, quick, full, chaos, rtt.
#? rates seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? rates workload default Workload: a name in load/workloads/, or the path of a YAML file.
#? rates edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? rates mesh none Sidecar mesh: none or envoy or istio.
#? rates mtls off Mutual TLS between sidecars: off or on.
#? rates replicas - Processes to run per component, such as graphql-gateway:2,product:2.
#? rates implementation - Components to run as another program than the one in Python, such as product:go.
#? rates cache none What products and users are read from before the database: none or valkey.
#? rates trace 0.2 Share of journeys to trace, 0 to 1.
#? rates payload 1KB Size of what the journey document reads: 100B or 1KB or 10KB or 100KB or 1MB.
#? rates http 2 HTTP version between client and edge: 1 or 2 or 3.
#? rates reuse on Whether clients keep connections, or off, open one for each request: on or off.
#? rates persisted on Whether clients send GraphQL documents by their hashes, or off, as texts in each request: on or off.
#? rates client_cache off Whether clients keep answers, and ask whether they have changed: off or on.
#? rates resume - Interrupted experiment to resume: latest, or its name.
#? rates retry 0 Times to repeat a trial in which a gate fails, 0 to 5.
#? rates strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? isolate topology hybrid Topology: a name in mesh/topologies/, or the path of a YAML file.
#? isolate journey bulk_lines Kind of journey to take away from beside the others.
#? isolate blocks 6 Number of blocks, 1 to 100; each runs every arm once.
#? isolate profile compare Profile that sets a trial's duration and rate: smoke, compare, quick, full, chaos, rtt.
#? isolate rate - Journeys per second of an open loop (default: the profile's rate).
#? isolate seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? isolate workload default Workload: a name in load/workloads/, or the path of a YAML file.
#? isolate edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? isolate tls off TLS 1.3 between client and edge: off or on.
#? isolate replicas - Processes to run per component, such as graphql-gateway:2,product:2.
#? isolate implementation - Components to run as another program than the one in Python, such as product:go.
#? isolate trace 0.2 Share of journeys to trace, 0 to 1.
#? isolate payload 1KB Size of what the journey document reads: 100B or 1KB or 10KB or 100KB or 1MB.
#? isolate http 2 HTTP version between client and edge: 1 or 2 or 3.
#? isolate connections 4 Client connections to the edge, or without one to each gateway, 1 to 1000.
#? isolate resume - Interrupted experiment to resume: latest, or its name.
#? isolate retry 0 Times to repeat a trial in which a gate fails, 0 to 5.
#? isolate strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? studies study all Studies to replay, comma-separated: agrawal, chandra, muppaneni, niswar, rozek; or all.
#? studies blocks - Number of blocks, 1 to 100; each runs every arm once (default: the profile's).
#? studies profile full Profile that sets blocks and the loads' lengths: smoke, full.
#? studies seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? studies resume - Interrupted experiment to resume: latest, or its name.
#? studies retry 0 Times to repeat a trial in which a gate fails, 0 to 5.
#? studies strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? sweep topologies rest,graphql,grpc,hybrid Topologies, comma-separated names or paths.
#? sweep objective 100ms Latency objective that p99 must stay under, 1ms to 5s.
#? sweep profile quick Profile that sets the duration of the steps: smoke, quick, full.
#? sweep start - Rate to start at, journeys per second (default: 20, or max if that is lower).
#? sweep max 1000 Highest rate to try, journeys per second.
#? sweep seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? sweep workload default Workload: a name in load/workloads/, or the path of a YAML file.
#? sweep tls off TLS 1.3 between client and edge: off or on.
#? sweep admission off Whether edge, gateways and services refuse requests that they cannot answer in time: off or on.
#? sweep implementation - Components to run as another program than the one in Python, such as product:go.
#? sweep trace 0 Share of journeys to trace, 0 to 1.
#? sweep payload 1KB Size of what the journey document reads: 100B or 1KB or 10KB or 100KB or 1MB.
#? sweep http 2 HTTP version between client and edge: 1 or 2 or 3.
#? sweep connections 4 Client connections to the edge, or without one to each gateway, 1 to 1000.
#? sweep reuse on Whether clients keep connections, or off, open one for each request: on or off.
#? sweep persisted on Whether clients send GraphQL documents by their hashes, or off, as texts in each request: on or off.
#? sweep client_cache off Whether clients keep answers, and ask whether they have changed: off or on.
#? sweep strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? stress topologies rest,graphql,grpc,hybrid Topologies, comma-separated names or paths.
#? stress users 100,300,1000,3000,10000 Number of virtual users at each step, ascending.
#? stress think 10s Think time between a user's journeys, such as 500ms or 10s.
#? stress profile quick Profile that sets the duration of the steps: smoke, quick, full.
#? stress seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? stress workload default Workload: a name in load/workloads/, or the path of a YAML file.
#? stress tls off TLS 1.3 between client and edge: off or on.
#? stress admission off Whether edge, gateways and services refuse requests that they cannot answer in time: off or on.
#? stress implementation - Components to run as another program than the one in Python, such as product:go.
#? stress trace 0 Share of journeys to trace, 0 to 1.
#? stress payload 1KB Size of what the journey document reads: 100B or 1KB or 10KB or 100KB or 1MB.
#? stress http 2 HTTP version between client and edge: 1 or 2 or 3.
#? stress reuse on Whether clients keep connections, or off, open one for each request: on or off.
#? stress persisted on Whether clients send GraphQL documents by their hashes, or off, as texts in each request: on or off.
#? stress client_cache off Whether clients keep answers, and ask whether they have changed: off or on.
#? stress connections 4 Client connections in total, 1 to 1000 (default: one per 100 users).
#? stress strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? overload topologies rest,graphql,grpc,hybrid Topologies, comma-separated names or paths.
#? overload factors 1,2,5,10 Peaks, in units of what a topology holds, ascending, 1 to 100.
#? overload capacity - Journeys per second that topologies hold, such as rest:90,grpc:120 (default: searched first).
#? overload objective 100ms Latency objective that p99 must stay under, 1ms to 5s.
#? overload profile quick Profile that sets the duration of the loads: smoke, quick, full.
#? overload seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? overload workload default Workload: a name in load/workloads/, or the path of a YAML file.
#? overload edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? overload admission on Whether edge, gateways and services refuse requests that they cannot answer in time: off or on.
#? overload trace 0 Share of journeys to trace, 0 to 1.
#? overload strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? connections topologies rest,graphql,grpc,hybrid Topologies, comma-separated names or paths.
#? connections connections 0,10,100,1000 Numbers of connections to hold, ascending, comma-separated, 0 to 1000.
#? connections blocks 3 Number of blocks, 1 to 20; each starts every system once.
#? connections seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? connections edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? connections tls off TLS 1.3 between client and edge: off or on.
#? connections http 2 HTTP version between client and edge: 1 or 2 or 3.
#? connections strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? watch topologies rest,graphql,grpc,hybrid Topologies, comma-separated names or paths.
#? watch ways push,poll Ways to wait, comma-separated: push, poll.
#? watch watchers 100,1000,5000 Numbers of watchers, ascending, comma-separated, 1 to 10000.
#? watch channel web Whose customers wait, by what that channel speaks: web, mobile, partner.
#? watch interval 5s Time between two polls of a customer, such as 5s; 1s to 60s.
#? watch duration 30s Length of the load with each number of watchers, 5s to 10m.
#? watch rate 20 Journeys per second of an open loop (default: the profile's rate).
#? watch blocks 3 Number of blocks, 1 to 20; each starts every system once for each way.
#? watch seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? watch edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? watch tls off TLS 1.3 between client and edge: off or on.
#? watch mesh none Sidecar mesh: none or envoy or istio.
#? watch mtls off Mutual TLS between sidecars: off or on.
#? watch replicas - Processes to run per component, such as graphql-gateway:2,product:2.
#? watch trace 0.2 Share of journeys to trace, 0 to 1.
#? watch http 2 HTTP version between client and edge: 1 or 2 or 3.
#? watch strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? chaos topologies rest,graphql,grpc,hybrid Topologies, comma-separated names or paths.
#? chaos faults - Faults, comma-separated: all, kinds, or kinds at a target, such as kill:order or cut:order-payment; kinds: kill, freeze, crash, cut, reset, slow, pool, restart, readonly, expire, clock, disk-full, rolling; in a cluster evict, drain (default: kill,crash,restart,readonly,rolling; in a cluster evict,drain).
#? chaos blocks 1 Number of blocks, 1 to 100; each runs every arm once.
#? chaos rate - Journeys per second of an open loop (default: the profile's rate).
#? chaos seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? chaos workload chaos Workload: a name in load/workloads/, or the path of a YAML file.
#? chaos edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? chaos tls off TLS 1.3 between client and edge: off or on.
#? chaos mesh none Sidecar mesh: none or envoy or istio.
#? chaos mtls off Mutual TLS between sidecars: off or on.
#? chaos admission off Whether edge, gateways and services refuse requests that they cannot answer in time: off or on.
#? chaos replicas - Processes to run per component, such as graphql-gateway:2,product:2.
#? chaos implementation - Components to run as another program than the one in Python, such as product:go.
#? chaos cache none What products and users are read from before the database: none or valkey.
#? chaos runtime native Where everything runs: this machine, or the current kubectl context: native or kubernetes.
#? chaos trace 0 Share of journeys to trace, 0 to 1.
#? chaos resume - Interrupted experiment to resume: latest, or its name.
#? chaos strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? soak topologies hybrid Topologies, comma-separated names or paths.
#? soak minutes 60 Minutes of load on each topology, 1 to 1440.
#? soak rate 20 Journeys per second of an open loop (default: the profile's rate).
#? soak seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? soak workload default Workload: a name in load/workloads/, or the path of a YAML file.
#? soak edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? soak tls off TLS 1.3 between client and edge: off or on.
#? soak mesh none Sidecar mesh: none or envoy or istio.
#? soak mtls off Mutual TLS between sidecars: off or on.
#? soak replicas - Processes to run per component, such as graphql-gateway:2,product:2.
#? soak implementation - Components to run as another program than the one in Python, such as product:go.
#? soak updates on Whether customers are told of changes of their orders, by a notification service: off or on.
#? soak cache none What products and users are read from before the database: none or valkey.
#? soak trace 0 Share of journeys to trace, 0 to 1.
#? soak strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? compare-runs a - Baseline run: the name of a folder in results/, or a path.
#? compare-runs b latest Run to compare with the baseline: latest, a name or a path.
#? compare-runs threshold - Exit with code 4 if b is slower than a by more than this, such as 10%.
#? compare-runs metrics off Metrics that the threshold applies to (default: p50,p99).
#? compare-runs allow-wrong no Whether to compare runs that are WRONG, or NOISY with strict=on: yes or no.
#? compare-runs out - File to write the comparison to, as Markdown.
#? compare-runs strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? decide run latest Run: latest, the name of a folder in results/, or a path.
#? decide workload - Workload whose mix and networks to decide for: a name or a path (default: the run's own).
#? decide rate - Of a run over rates: the journeys a second to decide at, one of its rates.
#? decide watchers - Decide which way to wait for news of orders, for so many customers: by a run of `make watch`.
#? decide lateness - With watchers=: how late news may be, 1ms to 60m (default: 1s).
#? decide network loopback Network between each customer and the edge: loopback or lan or wifi or 5g or 4g or 3g.
#? decide rtt - Round-trip time between customer and edge, such as 40ms, 0 to 2s; in place of the network's.
#? decide bandwidth - Each customer's bandwidth, down/up, such as 10mbit/2mbit; in place of the network's.
#? decide strict - Whether exit code 3 is for NOISY runs as well: on, off (default: off, and on where CI=true).
#? parity topologies - Topologies to check, comma-separated names or paths (default: all in Python that the edge serves).
#? parity samples 50 Samples per journey and channel.
#? parity seed 1 Seed of the tape and of everything else random, an integer ≥ 0.
#? parity workload default Workload: a name in load/workloads/, or the path of a YAML file.
#? parity edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? parity plugins none What the edge does besides routing: none or typical or all.
#? parity tls off TLS 1.3 between client and edge: off or on.
#? parity mesh none Sidecar mesh: none or envoy or istio.
#? parity mtls off Mutual TLS between sidecars: off or on.
#? parity istiod restart What becomes of Istio's control plane when it dies; the run goes on in any case: restart or leave.
#? parity canary 0 Percent of calls to product that go to a second instance, the canary, 0 to 100.
#? parity admission off Whether edge, gateways and services refuse requests that they cannot answer in time: off or on.
#? parity replicas - Processes to run per component, such as graphql-gateway:2,product:2.
#? parity implementation - Components to run as another program than the one in Python, such as product:go.
#? parity apart - Kind of journey that gets gateways and services of its own behind the edge, such as bulk_lines.
#? parity updates off Whether customers are told of changes of their orders, by a notification service: off or on.
#? parity cache none What products and users are read from before the database: none or valkey.
#? parity payload 1KB Size of what the journey document reads: 100B or 1KB or 10KB or 100KB or 1MB.
#? parity http 2 HTTP version between client and edge: 1 or 2 or 3.
#? parity reuse on Whether clients keep connections, or off, open one for each request: on or off.
#? parity persisted on Whether clients send GraphQL documents by their hashes, or off, as texts in each request: on or off.
#? parity client_cache off Whether clients keep answers, and ask whether they have changed: off or on.
#? conformance component product Component that is tested: product or user or order or payment or rest-gateway or graphql-gateway.
#? conformance command - Command that runs it, such as './product --verbose'; by default, the project's own.
#? conformance implementation - In place of a command, a component of the project in another language: product:go.
#? conformance protocols grpc Protocols that it is tested over, of grpc, rest, graphql, thrift.
#? report run latest Run: latest, the name of a folder in results/, or a path.
#? trace run latest Run: latest, the name of a folder in results/, or a path.
#? trace journey - Journey whose exemplars to print as trees (default: list all exemplars).
#? trace topology - Topology whose exemplars to print, for a comparison (default: the first that it names).
#? audit run - Run to audit: latest, a name or a path (default: the topology that is up, else latest).
#? prove-meetings experiments 1000 Number of synthetic experiments.
#? prove-meetings seed 1 Seed of the synthetic data, an integer ≥ 0.
#? prove-observer run latest Run: latest, the name of a folder in results/, or a path.
#? prove-observer draws 500 Number of draws.
#? prove-observer seed 1 Seed of the synthetic data, an integer ≥ 0.
#? prove-siblings traces 5000 Number of synthetic traces for each cause of a wait.
#? prove-siblings seed 1 Seed of the synthetic data, an integer ≥ 0.
#? prove-delays hops payment,product,user Components to slow, comma-separated: payment, product, user, order, graphql-gateway.
#? prove-delays sizes 500us,1ms,2ms,5ms Delays to inject, comma-separated, such as 500us,2ms.
#? prove-delays blocks 4 Number of blocks, at least 3; each runs every delay once.
#? prove-delays seed 1 Seed of the tape and of the trial order.
#? prove-delays resume - Interrupted proof to resume: latest, or its name.
#? prove-what-if hops payment,product,user,order Components to slow, comma-separated: payment, product, user, order, graphql-gateway.
#? prove-what-if sizes 1ms,2ms,5ms Delays to inject, comma-separated, such as 500us,2ms.
#? prove-what-if blocks 3 Number of blocks; each runs every delay once.
#? prove-what-if seed 1 Seed of the tape and of the trial order.
#? prove-what-if resume - Interrupted proof to resume: latest, or its name.
#? prove-queues blocks 2 Number of blocks; each runs every hold once.
#? prove-queues seed 1 Seed of the tape and of the trial order.
#? prove-queues resume - Interrupted proof to resume: latest, or its name.
#? prove-account topologies rest,hybrid Topologies, comma-separated names or paths.
#? prove-account pairs 2000 Pairs of slots of 0.3 s, 10 to 10000.
#? prove-account seed 1 Seed of the tape and of the order in each pair.
#? prove-conformance component - Component whose faults are seeded; by default, all.
#? prove-resume kills 10 Number of kills, 1 to 100.
#? prove-resume blocks 3 Number of blocks, 1 to 10.
#? prove-resume seed 1 Seed of the kill times, the tape and the trial order.
#? prove-statistics experiments 1000 Number of synthetic experiments.
#? prove-statistics seed 1 Seed of the synthetic data, an integer ≥ 0.
#? prove-cache races 10000 Number of changes that race readers.
#? prove-cache kills 20 Number of times that the cache is killed, and frozen.
#? prove-cache seed 1 Seed of who reads when, an integer ≥ 0.
#? prove-fairness topology hybrid Topology: a name in mesh/topologies/, or the path of a YAML file.
#? prove-fairness attacks recursive,wide,head,pings,idle,logins,guesses,sign-ups,bulk,streams,eager,eager-customer Attacks, comma-separated: recursive, wide, head, pings, idle, logins, guesses, sign-ups, bulk, streams, eager, eager-customer.
#? prove-fairness seconds 10 Length of a window, in seconds.
#? prove-fairness rounds 3 Windows of each kind for each attack.
#? prove-fairness edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? prove-fairness admission off Whether edge, gateways and services refuse requests that they cannot answer in time: off or on.
#? fuzz minutes 10 Minutes to send, starts of topologies included, 0.1 to 1440.
#? fuzz surfaces rest,graphql,edge,grpc,harness What to send to, comma-separated.
#? fuzz seed 1 Seed of all inputs, an integer ≥ 0.
#? fuzz again - File of an input that failed, to send nothing but it once more.
#? prove-sagas kills 200 Number of kills; 200 take about 4 minutes.
#? prove-sagas replicas - Processes to run per component, such as graphql-gateway:2,product:2.
#? prove-sagas customers 8 Number of customers who check out at the same time.
#? prove-sagas seed 1 Seed of the kill times and the purchases, an integer ≥ 0.
#? up topology hybrid Topology: a name in mesh/topologies/, or the path of a YAML file.
#? up edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? up plugins none What the edge does besides routing: none or typical or all.
#? up tls off TLS 1.3 between client and edge: off or on.
#? up mesh none Sidecar mesh: none or envoy or istio.
#? up mtls off Mutual TLS between sidecars: off or on.
#? up istiod restart What becomes of Istio's control plane when it dies; the run goes on in any case: restart or leave.
#? up canary 0 Percent of calls to product that go to a second instance, the canary, 0 to 100.
#? up admission off Whether edge, gateways and services refuse requests that they cannot answer in time: off or on.
#? up replicas - Processes to run per component, such as graphql-gateway:2,product:2.
#? up implementation - Components to run as another program than the one in Python, such as product:go.
#? up apart - Kind of journey that gets gateways and services of its own behind the edge, such as bulk_lines.
#? up store postgres Where the services keep their data while they run: postgres or memory.
#? up updates off Whether customers are told of changes of their orders, by a notification service: off or on.
#? up cache none What products and users are read from before the database: none or valkey.
#? up tracing lean What records the components' spans: the instrument, or OpenTelemetry's SDK: lean or sdk.
#? up metrics off Whether the components expose metrics on a port: off or on.
#? up scale 1 Scale of the generated data, in units of 10,000 users, products and orders, 1 to 100.
#? up http 2 HTTP version between client and edge: 1 or 2 or 3.
#? up delay - Delay to inject per component, such as payment:2ms,user:500us.
#? up hold - Component to keep busy at every Nth request, such as order:20ms/10.
#? up abort - Share of calls to fail per component, such as payment:1%.
#? up seed 1 Seed of the generated data, an integer ≥ 0.
#? up monitor off Whether Prometheus, which must be installed, runs too, with alerts: off or on.
#? manifests topology hybrid Topology: a name in mesh/topologies/, or the path of a YAML file.
#? manifests edge envoy Edge proxy in front of the topology: envoy or kong or none.
#? manifests plugins none What the edge does besides routing: none or typical or all.
#? manifests mesh none Sidecar mesh: none or envoy or istio.
#? manifests mtls off Mutual TLS between sidecars: off or on.
#? manifests istiod restart What becomes of Istio's control plane when it dies; the run goes on in any case: restart or leave.
#? manifests canary 0 Percent of calls to product that go to a second instance, the canary, 0 to 100.
#? manifests admission off Whether edge, gateways and services refuse requests that they cannot answer in time: off or on.
#? manifests replicas - Processes to run per component, such as graphql-gateway:2,product:2.
#? manifests updates off Whether customers are told of changes of their orders, by a notification service: off or on.
#? manifests metrics off Whether the components expose metrics on a port: off or on.
#? manifests scale 1 Scale of the generated data, in units of 10,000 users, products and orders, 1 to 100.
#? manifests delay - Delay to inject per component, such as payment:2ms,user:500us.
#? manifests hold - Component to keep busy at every Nth request, such as order:20ms/10.
#? manifests abort - Share of calls to fail per component, such as payment:1%.
#? manifests namespace hopwise Namespace of everything.
#? manifests storage - Size of PostgreSQL's volume, such as 10Gi; by default, data go with the pod.
#? manifests host - Name by which clients reach production over TLS; by default, no TLS.
#? manifests collector - Host of an OTLP collector that takes the spans; by default, a Jaeger is made.
#? manifests sampling 1.0 Percent of requests that production traces.
#? manifests seed 1 Seed of the generated data, an integer ≥ 0.
#? manifests out - Folder to write into; by default, one in .run/manifests/.
#? compose topology hybrid Topology: a name in mesh/topologies/, or the path of a YAML file.
#? compose updates off Whether customers are told of changes of their orders, by a notification service: off or on.
#? compose metrics off Whether the components expose metrics on a port: off or on.
#? compose scale 1 Scale of the generated data, in units of 10,000 users, products and orders, 1 to 100.
#? compose seed 1 Seed of the generated data, an integer ≥ 0.
#? compose out - Folder to write into; by default, the checkout for hybrid, else .run/compose/.
