// A broker that shares no code with Apache Kafka: kfake, with which franz-go tests itself.
//
// Usage: kfake PORT FOLDER [VERSION]
//
// It serves 127.0.0.1:PORT, keeps its topics in FOLDER, and answers as a Kafka of VERSION, such as
// 2.8, where that is given.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
)

const (
	createTopics    = 19
	createTopicsMax = 4
)

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(arguments []string) error {
	port, err := strconv.Atoi(arguments[0])
	if err != nil {
		return err
	}
	versions := kversion.Stable()
	if len(arguments) > 2 {
		if versions = kversion.FromString(arguments[2]); versions == nil {
			return fmt.Errorf("there is no Kafka %q", arguments[2])
		}
	}
	// Later ones answer with the settings of a new topic, and kfake does not say where each comes
	// from, which kafka-python refuses.
	if version, ok := versions.LookupMaxKeyVersion(createTopics); ok && version > createTopicsMax {
		versions.SetMaxKeyVersion(createTopics, createTopicsMax)
	}
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.Ports(port),
		kfake.DefaultNumPartitions(1),
		kfake.AllowAutoTopicCreation(),
		kfake.DataDir(arguments[1]),
		kfake.MaxVersions(versions),
	)
	if err != nil {
		return err
	}
	defer cluster.Close()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
	return nil
}
