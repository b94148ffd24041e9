package settings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/transform"
)

// Key is a setting of a conversion: a field of Settings, its key in recipes, its flag, and its
// keyword in Python. Nothing else lists the settings.
type Key struct {
	KeyOf[Settings]
	Kept  Kept
	Rules Rules
}

type setting = KeyOf[Settings]

// KeyOf is a field of S, and its flag.
type KeyOf[S any] struct {
	Name  string
	Short string // of the flag
	Group string // heading in the help; no flag of its own without
	// Help describes the setting. A word in back quotes is what the value is called.
	Help string
	// Of is the setting as text.
	Of func(s *S) Value
}

// Value is a setting as text.
type Value = value.Value

// Headings of the settings.
const (
	GroupInput     = "Input"
	GroupOutput    = "Output"
	GroupSelection = "Selection"
	GroupColumns   = "Labels and columns"
	GroupOrder     = "Order and splits"
	GroupRunning   = "Running"
)

// opKey is the key of an operation.
func opKey(name string, r Rules, of func(s *Settings) Value) Key {
	return Key{setting{name, "", GroupColumns, transform.Lookup(name).Usage(), of}, AsOperation, r}
}

// Lookup finds a key; nil if no key has the name.
func Lookup(name string) *Key {
	if i := slices.IndexFunc(Keys, func(k Key) bool { return k.Name == name }); i >= 0 {
		return &Keys[i]
	}
	return nil
}

// Given reports whether a setting has another value than the default.
func (k *KeyOf[S]) Given(s *S) bool {
	v := k.Of(s)
	if list, ok := v.(Several); ok {
		return len(list.All()) > 0
	}
	return v.String() != k.Of(new(S)).String()
}

// Check refuses a value that Set would.
func (k *KeyOf[S]) Check(s *S) error {
	if v, ok := k.Of(s).(interface{ Check() error }); ok {
		return v.Check()
	}
	return nil
}

// Copies is a number of copies.
type Copies int

const mostCopies = 1 << 16

// Set reads a number from 1.
func (c *Copies) Set(text string) error {
	n, err := strconv.Atoi(text)
	*c = Copies(n)
	if err != nil || n == 0 || c.Check() != nil {
		return fmt.Errorf("%s: want a number from 1 to %d", text, mostCopies)
	}
	return nil
}

// Check refuses what no copies are; 0 is the default.
func (c *Copies) Check() error {
	if *c < 0 || *c > mostCopies {
		return errors.New(c.String() + ": want a number from 1 to " + strconv.Itoa(mostCopies))
	}
	return nil
}

// String is empty for the default.
func (c *Copies) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.Itoa(int(*c))
}

// Type is shown in help.
func (c *Copies) Type() string { return "N" }
