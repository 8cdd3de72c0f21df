# The image of every service of docker-compose.yml that runs the project: Airflow's and Spark's.
FROM python:3.11.13-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends make openjdk-17-jre-headless tini \
    && rm -rf /var/lib/apt/lists/*

RUN useradd --create-home --uid 50000 tidemark \
    && install --directory --owner tidemark /opt/tidemark /data /opt/airflow
USER tidemark
WORKDIR /opt/tidemark

# What the lock asks for changes seldom: it is installed before the code comes.
COPY --chown=tidemark Makefile pyproject.toml requirements.lock jars.lock jars-s3.lock jars-azure.lock jars-gcs.lock README.md LICENSE ./
COPY --chown=tidemark jobs ./jobs
COPY --chown=tidemark jvm ./jvm
COPY --chown=tidemark expectations ./expectations
RUN make install install-s3
# Packages of another auth manager, such as docs/deploy/fab.lock; none by default.
ARG AUTH_LOCK=
COPY --chown=tidemark docs/deploy/*.lock ./docs/deploy/
RUN test -z "$AUTH_LOCK" || .venv/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement "$AUTH_LOCK"
COPY --chown=tidemark dags ./dags

ENV PATH=/opt/tidemark/.venv/bin:$PATH \
    AIRFLOW_HOME=/opt/airflow
ENTRYPOINT ["tini", "--"]
