// Package remote is what storages on other machines share: a file is read in ranges that are
// fetched over a network, each of which may fail and is asked for again.
//
// A storage implements Object, one file in its protocol, and says by Error which of its
// failures are worth another try. File makes an input of it: it joins small reads to large
// requests, reads ahead where reads follow each other, keeps what was fetched within the
// bound of a Pool, and tries again. Host bounds the requests to one server that are under
// way, and lowers the bound when the server asks for that.
package remote
