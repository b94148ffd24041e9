//go:build cuda && linux

package main

const withCUDA = true
