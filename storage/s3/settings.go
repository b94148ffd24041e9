package s3

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"gopkg.in/ini.v1"

	"github.com/shardify/shardify"
)

// settings say where a bucket is and who asks for it.
type settings struct {
	endpoint *url.URL
	region   string
	style    minio.BucketLookupType
	creds    *credentials.Credentials
}

const google = "https://storage.googleapis.com"

// find looks up the settings for a bucket, in the environment and in the profile files.
func find(scheme, bucket string) (s settings, err error) {
	p, err := loadProfile()
	if err != nil {
		return s, err
	}
	s.region = cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), p["region"], "us-east-1")
	own := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), os.Getenv("S3_ENDPOINT_URL"), p["endpoint_url"])
	endpoint := cmp.Or(own, "https://s3.amazonaws.com")
	if scheme == "gs" {
		own, endpoint, s.region = google, google, "auto"
	}
	s.endpoint, err = url.Parse(endpoint)
	if err != nil || s.endpoint.Host == "" || s.endpoint.User != nil || s.endpoint.Scheme != "http" && s.endpoint.Scheme != "https" {
		return s, errors.New("the endpoint of the environment or the profile is not an http or https address")
	}
	s.style = minio.BucketLookupDNS
	if on, set := flag("AWS_VIRTUAL_HOSTING"); set && !on || !set && own != "" || strings.Contains(bucket, ".") || strings.ToLower(bucket) != bucket {
		s.style = minio.BucketLookupPath
	}
	s.creds = credentials.New(&provider{profile: p})
	return s, nil
}

// flag is a variable that says yes or no.
func flag(name string) (on, set bool) {
	switch strings.ToLower(os.Getenv(name)) {
	case "":
		return false, false
	case "1", "yes", "true", "on":
		return true, true
	}
	return false, true
}

// loadProfile is what the files say of the profile of the environment: that of
// credentials first.
func loadProfile() (map[string]string, error) {
	name, asked := os.LookupEnv("AWS_PROFILE")
	if name == "" {
		name, asked = "default", false
	}
	home, _ := os.UserHomeDir()
	p, found := map[string]string{}, false
	for _, x := range []struct{ variable, file, section string }{
		{"AWS_CONFIG_FILE", "config", "profile " + name},
		{"AWS_SHARED_CREDENTIALS_FILE", "credentials", name},
	} {
		if name == "default" {
			x.section = name
		}
		file, err := ini.LooseLoad(cmp.Or(os.Getenv(x.variable), filepath.Join(home, ".aws", x.file)))
		if err != nil {
			return nil, fmt.Errorf("the %s file of AWS: %w", x.file, withoutValues(err))
		}
		if s, err := file.GetSection(x.section); err == nil {
			found = true
			for _, k := range s.Keys() {
				p[strings.ToLower(k.Name())] = strings.TrimSpace(k.String())
			}
		}
	}
	if asked && !found {
		return nil, fmt.Errorf("AWS_PROFILE: no profile %q in the files of AWS", name)
	}
	return p, nil
}

// withoutValues is an error of a file that may hold secrets: not the line it is about.
func withoutValues(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p
	}
	return errors.New("it cannot be parsed")
}

// provider is the first of the places where AWS's tools look for credentials that has some.
// Its error is that of this place: no other is tried then.
type provider struct {
	profile map[string]string
	credentials.Provider
}

func (p *provider) place() (credentials.Provider, string, error) {
	id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	switch on, _ := flag("AWS_NO_SIGN_REQUEST"); {
	case on:
		return anonymous, "", nil
	case (id == "") != (secret == ""):
		return nil, "", errors.New("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY one is not set")
	case id != "":
		return &credentials.EnvAWS{}, "the environment", nil
	}
	for _, key := range []string{"aws_access_key_id", "aws_secret_access_key", "sso_role_name", "sso_session", "sso_start_url", "credential_process"} {
		if p.profile[key] != "" {
			return &credentials.FileAWSCredentials{}, "the profile", nil
		}
	}
	disabled, set := flag("AWS_EC2_METADATA_DISABLED")
	switch {
	case p.profile["role_arn"] != "":
		return nil, "", shardify.Unsupported("a profile with role_arn: give it a line credential_process = aws configure export-credentials --format process --profile NAME")
	case os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		return &credentials.IAM{}, "AWS_WEB_IDENTITY_TOKEN_FILE", nil
	case os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" || os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "":
		return &credentials.IAM{}, "the container", nil
	case set && !disabled:
		return &credentials.IAM{}, "the metadata service", nil
	}
	return anonymous, "", nil
}

var anonymous = &credentials.Static{Value: credentials.Value{SignerType: credentials.SignatureAnonymous}}

// RetrieveWithCredContext looks again: files change while jobs run.
func (p *provider) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	from, name, err := p.place()
	if err != nil {
		return credentials.Value{}, err
	}
	v, err := from.RetrieveWithCredContext(cc)
	if err != nil {
		return v, fmt.Errorf("credentials of %s: %w", name, withoutURL(err))
	}
	p.Provider = from
	return v, nil
}

// IsExpired reports whether credentials must be looked for.
func (p *provider) IsExpired() bool { return p.Provider == nil || p.Provider.IsExpired() }

// withoutURL drops the address of a request from its error.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
