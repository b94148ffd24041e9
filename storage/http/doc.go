// Package http reads inputs from web servers: http:// and https:// addresses, WebDAV doors
// and listings in HTML or JSON. It asks for ranges and for what the server sends unchanged,
// holds all ranges of a file to one content (ETag, else the time and the size), and follows
// redirections without giving credentials away.
//
// Credentials are those that the tools of the field use: a token in BEARER_TOKEN or
// BEARER_TOKEN_FILE, else the file bt_uUID of the WLCG rules; the certificate of
// X509_USER_PROXY; the file of NETRC, else ~/.netrc. They are sent over https alone.
package http
