// decode FILE MODE PASSES: a whole binlog file by go-mysql, one JSON line a pass.
//
//	events  every event parsed, rows not looked at
//	decode  every row into []any, text into string
//	json    the same, then the envelope by an encoder that appends to a byte slice
//	stdjson the same, then encoding/json on map[string]any
//
// CRC32 is verified. BinlogParser.ParseFile reads the file with two small reads an event, so the file comes through a
// buffer of 1 MiB instead.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"binlog-connector/benchmarks/rows"
)

type count struct {
	events, ins, upd, del, cells, pk, bytes, check int64
}

func main() {
	passes, _ := strconv.Atoi(os.Args[3])
	for pass := 1; pass <= passes; pass++ {
		cpu, t0 := cpuSeconds(), time.Now()
		c, err := parse(os.Args[1], os.Args[2])
		if err != nil {
			panic(err)
		}
		fmt.Printf("{\"peer\":\"go-mysql\",\"mode\":%q,\"pass\":%d,\"events\":%d,\"ins\":%d,\"upd\":%d,\"del\":%d,\"cells\":%d,\"pk_sum\":%d,\"json_bytes\":%d,\"wall_s\":%.3f,\"cpu_s\":%.3f}\n",
			os.Args[2], pass, c.events, c.ins, c.upd, c.del, c.cells, c.pk, c.bytes, time.Since(t0).Seconds(), cpuSeconds()-cpu)
	}
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

func parse(path, mode string) (*count, error) {
	c := &count{}
	tables := map[uint64]*rows.Table{}
	var out []byte
	p := replication.NewBinlogParser()
	p.SetVerifyChecksum(true)
	on := func(ev *replication.BinlogEvent) error {
		c.events++
		if mode == "events" {
			return nil
		}
		switch e := ev.Event.(type) {
		case *replication.TableMapEvent:
			if tables[e.TableID] == nil {
				tables[e.TableID] = rows.NewTable(e)
			}
		case *replication.RowsEvent:
			t := tables[e.TableID]
			step, op := 1, "c"
			switch e.Type() {
			case replication.EnumRowsEventTypeUpdate:
				step, op = 2, "u"
			case replication.EnumRowsEventTypeDelete:
				op = "d"
			}
			for i := 0; i < len(e.Rows); i += step {
				row := e.Rows[i+step-1]
				c.cells += int64(len(row) * step)
				switch v := row[0].(type) {
				case int64:
					c.pk += v
				case uint64:
					c.pk += int64(v)
				}
				var before, after []any
				switch op {
				case "c":
					c.ins++
					after = row
				case "d":
					c.del++
					before = row
				default:
					c.upd++
					before, after = e.Rows[i], row
				}
				switch mode {
				case "json":
					out = rows.Change(out[:0], op, t, ev.Header.Timestamp, ev.Header.LogPos, before, after)
					c.bytes += int64(len(out))
				case "stdjson":
					b, err := json.Marshal(map[string]any{"op": op, "db": string(e.Table.Schema), "table": string(e.Table.Table),
						"ts": ev.Header.Timestamp, "pos": ev.Header.LogPos, "before": object(t, before), "after": object(t, after)})
					if err != nil {
						return err
					}
					c.bytes += int64(len(b))
				default:
					for _, v := range row {
						if b, ok := v.([]byte); ok {
							c.check += int64(len(string(b)))
						}
					}
				}
			}
		}
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	if _, err = r.Discard(4); err != nil {
		return nil, err
	}
	return c, p.ParseReader(r, on)
}

func object(t *rows.Table, row []any) map[string]any {
	if row == nil {
		return nil
	}
	m := make(map[string]any, len(row))
	for i, v := range row {
		switch x := v.(type) {
		case []byte:
			v = string(x)
		case string:
			if t.IsRaw[i] {
				v = json.RawMessage(x)
			}
		}
		m[t.Names[i]] = v
	}
	return m
}
