// Command istiod is Istio's control plane without Kubernetes: its configuration comes from a folder of files.
//
// It is the unmodified pilot-discovery with one difference. Its registry of services asks a Kubernetes client for
// namespaces even where all configuration comes from files, so it gets a client of an empty cluster.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"syscall"
	"time"
	"unsafe"

	"istio.io/istio/pilot/pkg/bootstrap"
	"istio.io/istio/pkg/cluster"
	"istio.io/istio/pkg/kube"
	"istio.io/istio/pkg/kube/multicluster"
)

// The name of the private field of bootstrap.Server that has no setter.
const controllerField = "multiclusterController"

const shutdownTime = 2 * time.Second

type settings struct {
	resources, meshConfig, http, xds, cluster, domain string
}

func main() {
	var given settings
	flag.StringVar(&given.resources, "resources", "", "folder of Istio's resources, watched for changes")
	flag.StringVar(&given.meshConfig, "mesh-config", "", "file of the mesh configuration")
	flag.StringVar(&given.http, "http", "", "`host:port` of metrics, debugging and readiness")
	flag.StringVar(&given.xds, "xds", "", "`host:port` of configuration and certificates for sidecars, over TLS")
	flag.StringVar(&given.cluster, "cluster", "Kubernetes", "name of the cluster that sidecars state")
	flag.StringVar(&given.domain, "domain", "cluster.local", "DNS domain of the mesh")
	flag.Parse()
	stop := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	// Istio's JWT check only fetches keys from a URL; a file needs no server.
	http.DefaultTransport.(*http.Transport).RegisterProtocol("file", http.NewFileTransport(http.Dir("/")))
	server, err := start(given, stop)
	if err != nil {
		fmt.Fprintln(os.Stderr, "istiod:", err)
		os.Exit(1)
	}
	<-signals
	close(stop)
	server.WaitUntilCompletion()
}

// start runs the control plane until stop is closed.
func start(given settings, stop <-chan struct{}) (*bootstrap.Server, error) {
	args := bootstrap.NewPilotArgs(func(args *bootstrap.PilotArgs) {
		args.MeshConfigFile = given.meshConfig
		args.RegistryOptions.FileDir = given.resources
		args.RegistryOptions.KubeOptions.ClusterID = cluster.ID(given.cluster)
		args.RegistryOptions.KubeOptions.DomainSuffix = given.domain
		// An empty address shares the HTTP listener, except for webhooks, which only Kubernetes calls.
		args.ServerOptions.HTTPAddr = given.http
		args.ServerOptions.SecureGRPCAddr = given.xds
		args.ServerOptions.TLSOptions.TLSMinVersion = bootstrap.TLSMinVersion1_2
		args.ShutdownDuration = shutdownTime
	})
	if err := args.Complete(); err != nil {
		return nil, err
	}
	client := kube.NewFakeClient()
	controller := multicluster.NewController(multicluster.ControllerOptions{
		Client:          client,
		ClusterID:       args.RegistryOptions.KubeOptions.ClusterID,
		SystemNamespace: args.Namespace,
		Debugger:        args.KrtDebugger,
	})
	var unset error
	server, err := bootstrap.NewServer(args, func(server *bootstrap.Server) {
		unset = setController(server, controller)
	})
	if unset != nil {
		return nil, unset
	}
	if err != nil {
		return nil, err
	}
	if err := controller.Run(stop); err != nil {
		return nil, err
	}
	client.RunAndWait(stop)
	return server, server.Start(stop)
}

// setController sets the controller, which only Istio's Kubernetes registry sets otherwise.
func setController(server *bootstrap.Server, controller *multicluster.Controller) error {
	field := reflect.ValueOf(server).Elem().FieldByName(controllerField)
	if !field.IsValid() || field.Type() != reflect.TypeOf(controller) {
		return fmt.Errorf("this version of Istio has no field %s of %T in %T", controllerField, controller, server)
	}
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(reflect.ValueOf(controller))
	return nil
}
