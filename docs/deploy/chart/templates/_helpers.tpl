{{- define "workbench.name" -}}
{{- printf "%s-%s" .Release.Name .part | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "workbench.labels" -}}
app.kubernetes.io/name: arbiter-workbench
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end -}}

{{- define "workbench.claim" -}}
{{- .Values.files.existingClaim | default (printf "%s-files" .Release.Name) -}}
{{- end -}}

{{- /* What every pod says of itself. */ -}}
{{- define "workbench.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: home
    emptyDir: {sizeLimit: {{ .Values.home.size }}}
  - name: tmp
    emptyDir: {sizeLimit: 1Gi}
  - name: shm
    emptyDir: {medium: Memory, sizeLimit: 64Mi}
  - name: secrets
    secret:
      secretName: {{ .Values.secret.name }}
      defaultMode: 0440
      items:
        {{- range $name, $key := .Values.secret.keys }}
        {{- if or (ne $name "DATABASE_URL") (ne $.part "migrate") }}
        - {key: {{ $key }}, path: {{ $key }}}
        {{- end }}
        {{- end }}
        {{- if eq .part "migrate" }}
        - {key: {{ .Values.secret.owner }}, path: {{ .Values.secret.owner }}}
        {{- end }}
  {{- if and (not .Values.files.bucket) (ne .part "migrate") }}
  - name: files
    persistentVolumeClaim: {claimName: {{ include "workbench.claim" . }}}
  {{- end }}
  {{- if eq .part "backup" }}
  - name: backups
    persistentVolumeClaim: {claimName: {{ .Values.backup.claim }}}
  {{- end }}
{{- end -}}

{{- /* What every container says of itself, but for its name, command and probes. */ -}}
{{- define "workbench.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  {{- range $name, $value := .Values.settings }}
  - name: {{ $name }}
    value: {{ $value | toString | quote }}
  {{- end }}
  - name: DJANGO_SETTINGS_MODULE
    value: workbench.settings.production
  - name: ALLOWED_HOSTS
    value: {{ .Values.host | quote }}
  - name: WORKBENCH_HOME
    value: /var/lib/workbench
  - name: WORKBENCH_STATIC_ROOT
    value: /opt/static
  {{- if .Values.files.bucket }}
  - name: S3_BUCKET
    value: {{ .Values.files.bucket | quote }}
  {{- else }}
  - name: WORKBENCH_MEDIA_ROOT
    value: /var/lib/workbench/files
  {{- end }}
  {{- range $name, $key := .Values.secret.keys }}
  - name: {{ $name }}_FILE
    value: /run/secrets/{{ if and (eq $name "DATABASE_URL") (eq $.part "migrate") }}{{ $.Values.secret.owner }}{{ else }}{{ $key }}{{ end }}
  {{- end }}
volumeMounts:
  - {name: home, mountPath: /var/lib/workbench}
  - {name: tmp, mountPath: /tmp}
  - {name: shm, mountPath: /dev/shm}
  - {name: secrets, mountPath: /run/secrets, readOnly: true}
  {{- if and (not .Values.files.bucket) (ne .part "migrate") }}
  - {name: files, mountPath: /var/lib/workbench/files}
  {{- end }}
  {{- if eq .part "backup" }}
  - {name: backups, mountPath: /backups}
  {{- end }}
{{- end -}}
