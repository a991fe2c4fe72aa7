// Package rest serves the contract's calls over HTTP as JSON resources, with entity tags, caching and problem details.
package rest

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"hopwise/services/internal/access"
	"hopwise/services/internal/guard"
	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/web"
)

var parameter = regexp.MustCompile(`{\w+}`)

// Route answers a call.
type Route struct {
	// Answer returns the value to encode: a document, a Created, or nil for no body.
	Answer     func(context.Context, *Call) (any, error)
	Parameters []string // names of the parameters in the query
	HasBody    bool

	path   string
	access access.Level
}

// Handler answers requests by their routes. It does not use http.ServeMux, which lacks {id}:verb, redirects some paths,
// and answers 404 and 405 as text.
type Handler struct {
	guard  *guard.Guard
	tracer trace.Tracer
	routes map[string]map[string]*Route // by path, with {} for a parameter, and by method
}

// New returns the handler for the calls with these full names; the guard's rules have the path and the admitted callers
// of each call.
func New(g *guard.Guard, tracer trace.Tracer, calls map[string]Route) http.Handler {
	h := &Handler{guard: g, tracer: tracer, routes: make(map[string]map[string]*Route)}
	for call, route := range calls {
		method, path, _ := strings.Cut(g.Rules[call].GetRest(), " ")
		route.path, route.access = path, g.Rules[call].GetAccess()
		place := parameter.ReplaceAllString(path, "{}")
		if h.routes[place] == nil {
			h.routes[place] = make(map[string]*Route)
		}
		h.routes[place][method] = &route
	}
	return web.Compress(gzipSuffix)(h)
}

// find returns the routes of a path by method, and the parameter in the path: 17 in /v1/products/17, and x in
// /v1/reservations/x:release.
func (h *Handler) find(path string) (map[string]*Route, string) {
	if routes, isWhole := h.routes[path]; isWhole {
		return routes, ""
	}
	slash := strings.LastIndexByte(path, '/')
	item, verb, hasVerb := strings.Cut(path[slash+1:], ":")
	if item == "" {
		return nil, ""
	}
	place := path[:slash+1] + "{}"
	if hasVerb {
		place += ":" + verb
	}
	return h.routes[place], item
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" { // not part of the API
		web.AnswerHealth(w, r)
		return
	}
	routes, item := h.find(r.URL.Path)
	method := r.Method
	if method == http.MethodHead { // net/http omits the body
		method = http.MethodGet
	}
	route, isRoute := routes[method]
	path := ""
	if isRoute {
		path = route.path
	}
	web.Trace(h.tracer, r, path, h.guard.Delay, func(ctx context.Context) web.Outcome {
		var document any
		err := guard.Recovering(func() (err error) {
			switch {
			case routes == nil:
				return shoperr.New(shoperr.NotFound, "", "there is nothing at this path")
			case !isRoute:
				return refuseMethod(r.Method, routes)
			}
			if err := h.guard.Authenticator.Admit(route.access, r.Header.Values); err != nil {
				return err
			}
			call, err := receive(ctx, w, r, route, item)
			if err == nil {
				document, err = route.Answer(ctx, call)
			}
			return err
		})
		if err == nil {
			return web.Outcome{Status: send(w, r, document)}
		}
		refusal := web.RefusalOf(ctx, err)
		sendProblem(w, r.URL.Path, refusal)
		if refusal.Status < http.StatusInternalServerError {
			return web.Outcome{Status: refusal.Status}
		}
		return web.Outcome{Status: refusal.Status, ErrorType: strconv.Itoa(refusal.Status), IsServerFault: true}
	})
}

func refuseMethod(method string, routes map[string]*Route) error {
	valid := slices.Collect(maps.Keys(routes))
	if slices.Contains(valid, http.MethodGet) {
		valid = append(valid, http.MethodHead)
	}
	slices.Sort(valid)
	allow := strings.Join(valid, ", ")
	return web.RefuseMethod(web.Shorten(method)+" is not possible here; "+allow+" are", allow)
}
