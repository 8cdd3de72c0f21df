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
COPY --chown=tidemark Makefile pyproject.toml requirements.lock jars.lock jars-s3.lock README.md LICENSE ./
COPY --chown=tidemark jobs ./jobs
COPY --chown=tidemark jvm ./jvm
COPY --chown=tidemark expectations ./expectations
RUN make install install-s3
COPY --chown=tidemark dags ./dags

ENV PATH=/opt/tidemark/.venv/bin:$PATH \
    AIRFLOW_HOME=/opt/airflow
ENTRYPOINT ["tini", "--"]
