// Package remote has what storages on other machines share: a file is read in ranges, which
// are fetched over a network; each fetch may fail and is retried.
//
// A storage implements Object, one file in its protocol, and says by Error which of its
// failures are worth a retry. File makes an input from it: it joins small reads to large
// requests, reads ahead where reads follow each other, keeps what was fetched within the
// bound of a Pool, and retries. Host bounds the requests in progress to one server, and
// lowers the bound when the server asks for that.
// way, and lowers the bound when the server asks for that.
package remote
