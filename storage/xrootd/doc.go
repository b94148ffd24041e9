// Package xrootd reads inputs from XRootD servers, the doors of most storage in particle
// physics: root://HOST[:PORT]//PATH, or roots:// over TLS. It is a client of protocol 5, which
// reads alone: every page comes with a checksum where the server has pgread, redirections to
// data servers are followed, and a lost connection is made again.
//
// It logs in as host or unix says, or with a token (ztn, over TLS alone); servers that want
// a certificate (gsi) are refused with the way around them.
package xrootd
