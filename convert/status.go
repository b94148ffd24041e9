package convert

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

const receiptsDir = storage.Private + "/receipts"

// Done is what receipts stand in a data set's folder, by their names alone.
type Done struct {
	Shards   []bool // by shard
	Portions []bool // of a global shuffle: by portion
}

// Done lists the receipts. It opens none and changes nothing.
func (p *Plan) Done(ctx context.Context, s storage.Store) (*Done, error) {
	d := &Done{Shards: make([]bool, p.Outputs())}
	if p.Shuffle == ShuffleGlobal {
		d.Portions = make([]bool, len(p.Shards))
	}
	n := 0
	for name, err := range storage.Names(s, receiptsDir) {
		if n++; n&1023 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		i, ok := receiptNumber(name)
		switch {
		case !ok || i < 0:
		case i < len(d.Shards) && name == p.receiptName(i):
			d.Shards[i] = true
		case i < len(d.Portions) && name == p.scatterName(i):
			d.Portions[i] = true
		}
	}
	return d, nil
}

// receiptNumber is the number that a receipt's name ends with.
func receiptNumber(name string) (int, bool) {
	name, ok := strings.CutSuffix(name, ".json")
	i, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	return i, ok && err == nil
}

// Receipt reads the receipt of shard i without regard to whether its files are there;
// fs.ErrNotExist if there is none, ErrCorrupt if it is damaged or another plan's.
func (p *Plan) Receipt(s storage.Store, i int) (*Receipt, error) {
	return p.readReceipt(s, i, p.receiptName(i))
}

// ScatterReceipt is Receipt for portion i of a global shuffle.
func (p *Plan) ScatterReceipt(s storage.Store, i int) (*Receipt, error) {
	r, err := p.readReceipt(s, i, p.scatterName(i))
	if err == nil && r.Fragment == nil {
		return nil, shardify.Annotate(shardify.Corrupt(-1, "it names no fragment"), "read", p.scatterName(i), "")
	}
	return r, err
}

func (p *Plan) readReceipt(s storage.Store, i int, name string) (*Receipt, error) {
	b, err := readAll(s, name)
	if err != nil {
		return nil, err
	}
	r, ok := p.decode(b, i)
	if !ok {
		return nil, shardify.Annotate(shardify.Corrupt(-1, "it is damaged, or belongs to another plan"), "read", name, "")
	}
	return r, nil
}

// there tells whether a published file has its size. That it cannot be looked at is an
// error, not an absence.
func there(s storage.Store, f shardify.File) (bool, error) {
	n, err := storage.Size(s, f.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && n == f.Bytes, err
}
