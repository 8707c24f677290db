// stream: go-mysql's BinlogSyncer, the same JSON, franz-go: what a careful Go programmer would write in an afternoon.
//
// A lower bound, not a connector: no schemas, no transactions, no checkpoints, no DDL.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/twmb/franz-go/pkg/kgo"

	"binlog-connector/benchmarks/rows"
)

func main() {
	kafka := flag.String("kafka", "127.0.0.1:9092", "broker")
	port := flag.Uint("port", 3306, "MySQL port")
	user := flag.String("user", "cdc", "MySQL user")
	password := flag.String("password", "", "its password")
	prefix := flag.String("prefix", "go", "topic prefix")
	schema := flag.String("schema", "shop", "database to follow")
	file := flag.String("file", "binlog.000001", "binlog to start with")
	compress := flag.String("compress", "none", "none or lz4")
	linger := flag.Duration("linger", 5*time.Millisecond, "producer linger")
	batch := flag.Int("batch", 1000000, "largest batch in bytes")
	flag.Parse()
	codec := kgo.NoCompression()
	if *compress == "lz4" {
		codec = kgo.Lz4Compression()
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(*kafka), kgo.ProducerLinger(*linger), kgo.ProducerBatchMaxBytes(int32(*batch)),
		kgo.ProducerBatchCompression(codec), kgo.MaxBufferedRecords(100000), kgo.AllowAutoTopicCreation(), kgo.RequiredAcks(kgo.AllISRAcks()))
	if err != nil {
		log.Fatal(err)
	}
	syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{ServerID: 5801, Flavor: "mysql", Host: "127.0.0.1",
		Port: uint16(*port), User: *user, Password: *password, VerifyChecksum: true, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	stream, err := syncer.StartSync(mysql.Position{Name: *file, Pos: 4})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	tables := map[uint64]*rows.Table{}
	topics := map[uint64]string{}
	failed := func(_ *kgo.Record, err error) {
		if err != nil && ctx.Err() == nil {
			log.Fatal(err)
		}
	}
	for {
		ev, err := stream.GetEvent(ctx)
		if err != nil {
			if ctx.Err() == nil {
				log.Fatal(err)
			}
			return
		}
		switch e := ev.Event.(type) {
		case *replication.TableMapEvent:
			if tables[e.TableID] == nil {
				t := rows.NewTable(e)
				tables[e.TableID], topics[e.TableID] = t, *prefix+"."+t.Schema+"."+t.Name
			}
		case *replication.RowsEvent:
			t := tables[e.TableID]
			if t.Schema != *schema {
				continue
			}
			step, op := 1, "c"
			switch e.Type() {
			case replication.EnumRowsEventTypeUpdate:
				step, op = 2, "u"
			case replication.EnumRowsEventTypeDelete:
				op = "d"
			}
			for i := 0; i < len(e.Rows); i += step {
				var before, after []any
				row := e.Rows[i+step-1]
				switch op {
				case "c":
					after = row
				case "d":
					before = row
				default:
					before, after = e.Rows[i], row
				}
				value := rows.Change(make([]byte, 0, 640), op, t, ev.Header.Timestamp, ev.Header.LogPos, before, after)
				client.Produce(ctx, &kgo.Record{Topic: topics[e.TableID], Key: fmt.Append(nil, row[0]), Value: value}, failed)
			}
		}
	}
}
