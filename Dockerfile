# One image for web, workers, beat and migrations. Built from the hashed locks; runs as nobody in particular.

FROM python:3.12-slim AS build
WORKDIR /build
# The packages of requirements.lock without the embedded servers (80 MB), and those for traces, which nothing imports
# until a collector is named.
COPY requirements-uv.lock requirements-image.lock ./
RUN python -m venv /opt/venv \
    && /opt/venv/bin/python -m pip install --no-cache-dir --require-hashes -r requirements-uv.lock \
    && /opt/venv/bin/uv pip install --no-cache --compile-bytecode --python /opt/venv/bin/python \
        --require-hashes -r requirements-image.lock \
    && /opt/venv/bin/python -m pip uninstall --yes uv

FROM python:3.12-slim
# The tag that it is built from; shown at the foot of every page.
ARG WORKBENCH_VERSION=
ENV WORKBENCH_VERSION=$WORKBENCH_VERSION \
    PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=workbench.settings.production \
    WORKBENCH_HOME=/var/lib/workbench \
    WORKBENCH_STATIC_ROOT=/opt/static
RUN groupadd --gid 10001 workbench \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/workbench --shell /usr/sbin/nologin workbench \
    && install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/workbench /var/lib/workbench/files
COPY --from=build /opt/venv /opt/venv
WORKDIR /app
COPY manage.py LICENSE NOTICE ./
COPY arbitration arbitration
COPY training training
COPY workbench workbench
COPY templates templates
COPY static static
# Neither value is kept: collecting files opens no connection and signs nothing.
RUN SECRET_KEY=only-while-the-image-is-built DATABASE_URL=postgres://none@127.0.0.1:1/none \
    python manage.py collectstatic --noinput
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
CMD ["gunicorn", "--bind=0.0.0.0:8000", "--worker-class=workbench.operations.server.GatheringWorker", "--preload", "--threads=4", "--no-control-socket", "workbench.wsgi:application"]
