package order

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

var (
	// ErrFingerprint: the state belongs to another data set.
	ErrFingerprint = errors.New("state of another data set")
	// ErrOrder: the state belongs to another order of the same data set.
	ErrOrder = errors.New("state of another order")
	// ErrState: the state cannot be read.
	ErrState = errors.New("not a state of a loader")
)

// State is a place in the order of samples. It does not depend on world and batch
// size: a Loader with others continues at the same sample.
type State struct {
	Version     int    `json:"shardify_loader"`
	Fingerprint string `json:"fingerprint"` // of the data set
	Order       string `json:"order"`       // Order.String
	Seed        uint64 `json:"seed"`
	Epoch       int    `json:"epoch"`
	// Position is how many positions of the epoch all ranks together have consumed.
	Position int64 `json:"position"`
}

const stateVersion = 1

// State is a place of an order of the set with that fingerprint.
func (o *Order) State(fingerprint string, epoch int, position int64) State {
	return State{stateVersion, fingerprint, o.TextAt(epoch, position), o.Seed(), epoch, position}
}

// maxState bounds the text of a state.
const maxState = 64 << 10

// Encode writes the state as JSON.
func (s *State) Encode() ([]byte, error) {
	c := *s
	c.Version = stateVersion
	return json.Marshal(&c)
}

// DecodeState reads what Encode wrote. Unknown keys are refused: they would mean
// something that this program does not heed.
func DecodeState(b []byte) (State, error) {
	var s State
	if len(b) > maxState {
		return s, fmt.Errorf("%w: %d bytes", ErrState, len(b))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return State{}, fmt.Errorf("%w: %v", ErrState, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return State{}, fmt.Errorf("%w: more text after it", ErrState)
	}
	switch {
	case s.Version != stateVersion:
		return State{}, fmt.Errorf("%w: version %d, this program reads %d", ErrState, s.Version, stateVersion)
	case s.Epoch < 0 || s.Epoch >= MaxEpoch || s.Position < 0:
		return State{}, fmt.Errorf("%w: epoch %d, position %d", ErrState, s.Epoch, s.Position)
	}
	return s, nil
}

// Matches returns an error unless a state is of this set and order.
func (s *State) Matches(fingerprint string, o *Order) error {
	switch {
	case s.Fingerprint != fingerprint:
		return fmt.Errorf("%w: its fingerprint is %s, that of the set %s", ErrFingerprint, s.Fingerprint, fingerprint)
	case s.Order != o.TextAt(s.Epoch, s.Position):
		return fmt.Errorf("%w: it says %q, the loader %q", ErrOrder, s.Order, o.TextAt(s.Epoch, s.Position))
	case s.Seed != o.Seed():
		return fmt.Errorf("%w: its seed is %d, that of the loader %d", ErrOrder, s.Seed, o.Seed())
	case s.Epoch < 0 || s.Epoch >= MaxEpoch || s.Position < 0 || s.Position > 0 && s.Position > o.LenOf(s.Epoch):
		return fmt.Errorf("%w: position %d of epoch %d, epochs have %d samples", ErrState, s.Position, s.Epoch, o.LenOf(s.Epoch))
	}
	return nil
}
