package main

import (
	"reflect"
	"testing"

	"istio.io/istio/pilot/pkg/bootstrap"
	"istio.io/istio/pkg/kube"
	"istio.io/istio/pkg/kube/multicluster"
)

// Fails when a new version of Istio has renamed the private field, or given it another type.
func TestSetController(t *testing.T) {
	controller := multicluster.NewController(multicluster.ControllerOptions{Client: kube.NewFakeClient()})
	server := &bootstrap.Server{}
	if err := setController(server, controller); err != nil {
		t.Fatal(err)
	}
	set := reflect.ValueOf(server).Elem().FieldByName(controllerField).Pointer()
	if want := reflect.ValueOf(controller).Pointer(); set != want {
		t.Errorf("%s is %#x, want %#x", controllerField, set, want)
	}
}
