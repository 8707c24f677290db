{{- /* What all pods have; `.name` is of the pipeline or job, `.kind` is "connector" or "mirror". */ -}}

{{- define "binlog-connector.app" -}}
{{ if eq .kind "mirror" }}binlog-connector-mirror{{ else }}binlog-connector{{ end }}
{{- end }}

{{- define "binlog-connector.labels" -}}
app.kubernetes.io/name: {{ include "binlog-connector.app" . }}
app.kubernetes.io/instance: {{ .name }}
{{- end }}

{{- define "binlog-connector.strategy" -}}
# Two processes of one name would take over from each other.
replicas: 1
strategy:
  type: Recreate
selector:
  matchLabels: {{- include "binlog-connector.labels" . | nindent 4 }}
{{- end }}

{{- define "binlog-connector.podMetadata" -}}
labels: {{- include "binlog-connector.labels" . | nindent 2 }}
annotations:
  prometheus.io/scrape: "true"
  prometheus.io/port: {{ .port | quote }}
  # A pod reads its configuration when it starts, so another one replaces it.
  binlog-connector/configuration: {{ .configuration | sha256sum }}
  {{- with .values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "binlog-connector.podSecurity" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- with .values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "binlog-connector.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 2
  failureThreshold: {{ if eq .kind "mirror" }}90{{ else }}30{{ end }}
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  periodSeconds: 10
  timeoutSeconds: 5
{{- end }}

{{- define "binlog-connector.container" -}}
image: {{ get .values.image .kind }}
imagePullPolicy: {{ .values.image.pullPolicy }}
{{- with .of.environment }}
envFrom:
  - secretRef: {name: {{ . }}}
{{- end }}
ports:
  - name: metrics
    containerPort: {{ .port }}
resources: {{- .of.resources | default (get .values.resources .kind) | toYaml | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- define "binlog-connector.mounts" -}}
- {name: configuration, mountPath: /etc/binlog-connector, readOnly: true}
{{- if .of.secret }}
- {name: secrets, mountPath: /run/secrets/binlog-connector, readOnly: true}
{{- end }}
- {name: temporary, mountPath: /tmp}
{{- end }}

{{- define "binlog-connector.volumes" -}}
- name: configuration
  configMap:
    name: {{ include "binlog-connector.app" . }}-{{ .name }}
{{- with .of.secret }}
- name: secrets
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
- name: temporary
  emptyDir: {}
{{- end }}
