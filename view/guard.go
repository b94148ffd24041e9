package view

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"net/url"
)

// guard lets in what comes from the page itself, in a browser that has opened the address with the
// token once.
type guard struct {
	hosts  [2]string // of this machine, with the port
	token  string
	cookie string // its name: browsers share cookies among the ports of a host
	next   http.Handler
}

func newGuard(port string, next http.Handler) *guard {
	var secret [24]byte
	_, _ = rand.Read(secret[:]) // never fails
	return &guard{hosts: [2]string{"127.0.0.1:" + port, "localhost:" + port}, token: hex.EncodeToString(secret[:]), cookie: "shardify-" + port, next: next}
}

// policy is what the page may do: load its own files. Reports have their style inline, and no script.
const (
	policy       = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	reportPolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	key := r.URL.Query().Get("token")
	opens := r.URL.Path == "/" && g.right(key)
	switch {
	case r.Host != g.hosts[0] && r.Host != g.hosts[1]:
		http.Error(w, "this page has another host", http.StatusForbidden) // a name that an attacker made an address of ours
	case !g.own(r, opens):
		http.Error(w, "this page answers no other page", http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "this page only reads", http.StatusMethodNotAllowed)
	case opens:
		http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		g.next.ServeHTTP(w, r)
	case !g.known(r):
		http.Error(w, "open the whole address that shardify view has printed: it ends with a token", http.StatusForbidden)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// own reports whether a request comes from the page or from the address line. opens is the first
// request, with the token: a link anywhere may lead to it.
func (g *guard) own(r *http.Request, opens bool) bool {
	if o := r.Header.Get("Origin"); o != "" {
		if u, err := url.Parse(o); err != nil || u.Scheme != "http" || u.Host != r.Host {
			return false
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	}
	return opens && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

func (g *guard) known(r *http.Request) bool {
	c, err := r.Cookie(g.cookie)
	return err == nil && g.right(c.Value)
}

func (g *guard) right(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) == 1
}
