package http

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// authorize adds the credentials there are for a server, over https alone.
func authorize(r *http.Request) error {
	if r.URL.Scheme != "https" {
		return nil
	}
	token, err := Token()
	if err != nil {
		return err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	if name, password, ok := netrc(r.URL.Hostname()); ok {
		r.SetBasicAuth(name, password)
	}
	return nil
}

// mostToken is the size of the largest file of a token.
const mostToken = 64 << 10

// Token is the bearer token of the environment, found as WLCG specifies, or "". It is
// looked up for each request, since tokens live for minutes.
func Token() (string, error) {
	if t := strings.TrimSpace(os.Getenv("BEARER_TOKEN")); t != "" {
		return t, nil
	}
	if name := os.Getenv("BEARER_TOKEN_FILE"); name != "" {
		t, err := secret(name)
		if err != nil {
			return "", fmt.Errorf("BEARER_TOKEN_FILE: %w", err)
		}
		return t, nil
	}
	file := "bt_u" + strconv.Itoa(os.Getuid())
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir()} {
		if dir == "" {
			continue
		}
		if t, err := secret(filepath.Join(dir, file)); err == nil {
			return t, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", nil
}

func secret(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostToken))
	return strings.TrimSpace(string(b)), err
}

// netrc is the line of a server in the file of NETRC, else ~/.netrc.
func netrc(host string) (name, password string, ok bool) {
	file := os.Getenv("NETRC")
	if file == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", "", false
		}
		file = filepath.Join(home, ".netrc")
	}
	text, err := secret(file)
	if err != nil {
		return "", "", false
	}
	in := false
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch words[i] {
		case "machine":
			if ok {
				return name, password, true
			}
			in = value == host
			i++
		case "default":
			if ok {
				return name, password, true
			}
			in = true
		case "login":
			if in {
				name, ok = value, true
			}
			i++
		case "password":
			if in {
				password = value
			}
			i++
		case "account":
			i++
		}
	}
	return name, password, ok
}

// certificate adds that of X509_USER_PROXY, or of X509_USER_CERT and X509_USER_KEY.
func certificate(c *tls.Config) error {
	cert, key := os.Getenv("X509_USER_PROXY"), os.Getenv("X509_USER_PROXY")
	if cert == "" {
		cert, key = os.Getenv("X509_USER_CERT"), os.Getenv("X509_USER_KEY")
	}
	if cert == "" || key == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("the certificate of X509_USER_PROXY: %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return nil
}
