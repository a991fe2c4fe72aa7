package exchange

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// mostKept is how many bytes of bodies a cache keeps; answers that come once it is full are not kept.
const mostKept = 64 << 20

// Cache keeps answers with an entity tag, and has the next request for the same ask whether they have changed (If-None-Match). Public
// ones serve all who share the cache, the others their own reader. It never answers without asking, so that no answer is old.
type Cache struct {
	mu          sync.Mutex
	kept        map[resource]kept
	bytes       int
	notModified atomic.Int64
}

// resource is what a reader, or everybody if there is no token, gets at a URL.
type resource struct{ token, url string }

type kept struct {
	tag    string
	answer Response
}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{kept: map[resource]kept{}} }

// NotModified is how many answers came from the cache, as the shop said that they had not changed.
func (c *Cache) NotModified() int64 { return c.notModified.Load() }

// find returns what is kept of an answer to a request; without a cache nothing is.
func (c *Cache) find(r *http.Request) (k kept, found bool) {
	if c == nil || r.Method != http.MethodGet {
		return k, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, found = c.kept[resource{"", r.URL.RequestURI()}]; !found {
		k, found = c.kept[resource{r.Header.Get("Authorization"), r.URL.RequestURI()}]
	}
	return k, found
}

// keep keeps an answer that may be kept, in the place of an older one.
func (c *Cache) keep(r *http.Request, headers http.Header, answer Response) {
	policy, tag := headers.Get("Cache-Control"), headers.Get("ETag")
	if c == nil || r.Method != http.MethodGet || answer.Status != http.StatusOK || tag == "" || strings.Contains(policy, "no-store") {
		return
	}
	of := resource{"", r.URL.RequestURI()}
	if !strings.Contains(policy, "public") {
		of.token = r.Header.Get("Authorization")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes := c.bytes - len(c.kept[of].answer.Body) + len(answer.Body); bytes <= mostKept {
		c.kept[of], c.bytes = kept{tag, answer}, bytes
	}
}
