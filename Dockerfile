# syntax=docker/dockerfile:1
# Two images: `connector` (Python alone) and `stream_job` (with Java and Spark).
#
#   docker build --target connector --tag binlog-connector .
#   docker run binlog-connector --help

FROM python:3.11-slim-bookworm AS base
# Output appears at once; the interpreter writes nothing at run time.
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PATH=/opt/venv/bin:$PATH
RUN useradd --system --uid 10001 --create-home app

# What uv.lock pins, with its hashes; an edit of our own code reuses the layer below it.
FROM base AS build
RUN pip install --no-cache-dir uv==0.13.8
# The compiler of the hot path stays in this stage.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
ENV UV_PROJECT_ENVIRONMENT=/opt/venv UV_COMPILE_BYTECODE=1 UV_PYTHON_DOWNLOADS=never
ENV CONNECTOR_COMPILED=require
WORKDIR /src
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev --no-install-project
COPY . .
RUN uv sync --frozen --no-dev --no-editable

FROM build AS build_spark
RUN uv sync --frozen --no-dev --no-editable --extra spark

FROM base AS connector
COPY --from=build /opt/venv /opt/venv
USER app
ENTRYPOINT ["binlog-connector"]
CMD ["--help"]

FROM base AS stream_job
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build_spark /opt/venv /opt/venv
# A new volume takes the owner of the folder that it covers.
RUN install --directory --owner=app /var/lib/binlog-connector
USER app
WORKDIR /home/app
ENTRYPOINT ["python", "-m", "stream_jobs"]
